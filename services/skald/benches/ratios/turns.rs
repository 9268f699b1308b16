//! The turn: its commits, and its time beside theirs.

use std::time::Instant;

use crate::{
    disk::{self, Bare},
    figure, median,
    scene::Scene,
};

const ROUNDS: usize = 31;

pub async fn measure() {
    turn("turn", true, 5).await;
    turn("turn_with_evaluation", false, 8).await;
}

/// `bound`: durable commits at the most.
async fn turn(name: &str, agent_off: bool, bound: usize) {
    println!("{name}: from SubmitTurn to its last frame, beside as many bare durable commits");
    let mut scene = Scene::open(agent_off).await;
    let bare = Bare::open().await;
    scene.turn(|_| {}).await;

    let mut counts = Vec::new();
    let mut rounds = Vec::new();
    for _ in 0..ROUNDS {
        let before = disk::commits(scene.folder());
        let started = Instant::now();
        scene.turn(|_| {}).await;
        let ours = started.elapsed();
        // Nothing to count where a log began anew meanwhile.
        counts.extend(disk::commits(scene.folder()).checked_sub(before));
        rounds.push((bare.commit(bound).await, ours));
    }
    println!("ratio commits_{name} {} bound <= {bound}", median(counts));
    figure(&format!("{name}_over_its_commits"), 4.0, &rounds);
}

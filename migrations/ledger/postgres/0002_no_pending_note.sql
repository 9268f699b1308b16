-- A half created session is forgotten as it is: a retry makes it anew under the same id.

alter table sessions drop column pending;

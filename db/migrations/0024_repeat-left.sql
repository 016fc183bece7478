-- What is looked through by upkeep, since it may hold rows that only repeat others (db/functions/repeats-left.sql): the claims of a weak key
-- (kind `claims`) or the superseded references of a feedback (kind `feedback`). after: the number from which on that is left to do.
create table repeat_left (
  workspace_id uuid not null,
  after bigint not null default 0,
  kind text not null,
  id uuid not null,
  looked_at timestamptz not null default now(),
  primary key (workspace_id, kind, id)
);
create index repeat_left_looked_at on repeat_left (workspace_id, looked_at);

-- Former versions kept a row for each call.
insert into repeat_left (workspace_id, kind, id)
select workspace_id, 'claims', key_id from identity_claim where not link and decides group by 1, 3 having count(*) > 1
union all
select workspace_id, 'feedback', id from superseded_reference group by 1, 3 having count(*) > 1;

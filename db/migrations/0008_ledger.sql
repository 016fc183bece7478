-- What became of a workspace's submissions, counted where their states are written. Receipts expire, these totals stay.
create table ledger (
  workspace_id uuid not null,
  state text not null,
  submissions bigint not null,
  primary key (workspace_id, state)
);

create function count_settled() returns trigger
  language plpgsql as $$
begin
  if tg_op = 'UPDATE' then
    insert into ledger as l (workspace_id, state, submissions)
    select workspace_id, state, sum(change) from (
      select workspace_id, state, 1 as change from after_rows
      union all
      select workspace_id, state, -1 from before_rows
    ) as changes
    group by workspace_id, state having sum(change) <> 0 order by workspace_id, state
    on conflict (workspace_id, state) do update set submissions = l.submissions + excluded.submissions;
  else
    insert into ledger as l (workspace_id, state, submissions)
    select workspace_id, state, count(*) from after_rows group by workspace_id, state order by workspace_id, state
    on conflict (workspace_id, state) do update set submissions = l.submissions + excluded.submissions;
  end if;
  return null;
end $$;

create trigger submission_inserted after insert on submission
  referencing new table as after_rows for each statement execute function count_settled();
create trigger submission_updated after update on submission
  referencing old table as before_rows new table as after_rows for each statement execute function count_settled();

-- The receipt of a purge has what it removed, per table.
create function settle_purge(ws uuid, purge_id uuid, number bigint, attempts int, removed jsonb) returns void
  language sql as $$
  insert into submission as s (workspace_id, id, acceptance_number, operation, state, attempts, finished_at, counts)
  values (ws, purge_id, number, 'purge_contact', 'applied', attempts, now(), removed)
  on conflict (workspace_id, id) do update
  set state = 'applied', attempts = excluded.attempts, finished_at = excluded.finished_at, error = null, counts = excluded.counts
  where s.state <> 'applied'
$$;

-- The ledger: what became of a workspace's submissions, counted by triggers where their states are written.
create or replace function count_settled() returns trigger
  language plpgsql as $$
begin
  if tg_op = 'UPDATE' then
    insert into ledger as l (workspace_id, state, submissions, highest_number)
    select workspace_id, state, sum(change), max(acceptance_number) from (
      select workspace_id, state, acceptance_number, 1 as change from after_rows
      union all
      select workspace_id, state, acceptance_number, -1 from before_rows
    ) as changes
    group by workspace_id, state having sum(change) <> 0 order by workspace_id, state
    on conflict (workspace_id, state) do update
    set submissions = l.submissions + excluded.submissions, highest_number = greatest(l.highest_number, excluded.highest_number);
  else
    insert into ledger as l (workspace_id, state, submissions, highest_number)
    select workspace_id, state, count(*), max(acceptance_number) from after_rows
    group by workspace_id, state order by workspace_id, state
    on conflict (workspace_id, state) do update
    set submissions = l.submissions + excluded.submissions, highest_number = greatest(l.highest_number, excluded.highest_number);
  end if;
  return null;
end $$;

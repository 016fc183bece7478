-- settled: numbers of what is delivered again although it was settled before. A purge may have removed it meanwhile, so nothing
-- of it is looked at. are_known: whether one of them has a receipt already.
create or replace function former_states(submissions new_submission[], out settled workspace_number[], out are_known boolean)
  language plpgsql stable as $$
begin
  select coalesce(array_agg(n::workspace_number) filter (where s.state in ('applied', 'superseded', 'purged')), '{}'), count(*) > 0
  into settled, are_known
  from unnest(submissions) as d,
    lateral (select state from submission where workspace_id = d.workspace_id and id = d.id offset 0) as s,
    lateral (select d.workspace_id as workspace_id, d.number as number) as n;
end $$;

-- Writes receipts where not all are new and applied, and returns them.
create or replace function settle(
  submissions new_submission[], refused workspace_number[], superseded workspace_number[], are_known boolean
) returns setof submission
  language plpgsql as $$
begin
  if are_known then
    return query
    update submission as k set state = s.state, attempts = s.attempts, finished_at = now(), error = null
    from states_of(submissions, refused, superseded) as s,
      lateral (
        select ctid as place from submission
        where workspace_id = s.workspace_id and id = s.id and state in ('queued', 'dead') offset 0
      ) as held
    where k.workspace_id is not distinct from s.workspace_id and k.ctid = held.place
    returning k.*;
  end if;
  return query
  insert into submission as k (workspace_id, id, acceptance_number, operation, state, attempts, finished_at)
  select s.workspace_id, s.id, s.number, s.operation, s.state, s.attempts, now()
  from states_of(submissions, refused, superseded) as s
  where not are_known or not exists (
    select from submission as held where held.workspace_id = s.workspace_id and held.id = s.id offset 0
  )
  returning k.*;
end $$;

create or replace function states_of(submissions new_submission[], refused workspace_number[], superseded workspace_number[])
  returns table (workspace_id uuid, id uuid, number bigint, operation text, attempts integer, state text)
  language sql stable as $$
  select s.workspace_id, s.id, s.number, s.operation, s.attempts, case
    when n.itself = any (refused) then 'purged'
    when s.operation = 'create_feedback' and n.itself = any (superseded) then 'superseded'
    when s.operation = 'submit_conversation' and exists (
      select from conversation as c where c.workspace_id = s.workspace_id and c.id = s.record and c.number > s.number offset 0
    ) then 'superseded'
    else 'applied'
  end
  from unnest(submissions) as s, lateral (select (s.workspace_id, s.number)::workspace_number) as n (itself)
$$;

-- A purge that is decided asks which keys it has ended. That had read all fences of its workspace, twice: now those of its number.
create index fence_number on fence (number);

create or replace function decide_purge(ws uuid, wanted wanted_purge) returns void
  language plpgsql as $$
declare
  doomed uuid[];
  remembered uuid := case when is_remembered(ws, wanted."group") then wanted."group" end;
  gone int;
begin
  if exists (select from purge where workspace_id = ws and id = wanted.id)
     or exists (select from submission where workspace_id = ws and id = wanted.id and state <> 'dead') then
    return;
  end if;
  doomed := array(
    select matching_contacts(ws, wanted."group", id_at(ws, wanted.email, wanted.number), wanted.source)
  );
  perform end_keys(ws, doomed, wanted.number);
  insert into fence (workspace_id, key_id, number, id, next_id, group_id)
  select ws, remembered, wanted.number, id_at(ws, remembered, wanted.number), id_after_purge(remembered, wanted.number), remembered
  where remembered is not null
  on conflict do nothing;
  delete from contact where workspace_id = ws and id = any (doomed);
  get diagnostics gone = row_count;
  insert into purge (workspace_id, id, number, contact_ids, remembered, keys, contacts)
  values (
    ws, wanted.id, wanted.number, doomed, remembered,
    array(
      select unnest(array_remove(array[key_id, group_id], null)) from fence
      where workspace_id is not distinct from ws and number = wanted.number
      union select unnest(array_remove(array[wanted."group", wanted.email], null))
    ),
    gone
  );
end $$;

-- By its record alone: a connection that had planned this while the table was empty went through all that its workspace has in the
-- primary key, until the table was analyzed.
create or replace function remember_unresolved(ws uuid, record uuid, of_number bigint, missed uuid[]) returns void
  language plpgsql as $$
begin
  delete from unresolved_reference
  where workspace_id is not distinct from ws and record_id = record and number = of_number and ref_id <> all (missed);
  insert into unresolved_reference (workspace_id, ref_id, record_id, number)
  select ws, m, record, of_number from unnest(missed) as m
  on conflict do nothing;
end $$;

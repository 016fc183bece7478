-- Purges that a database lacks, as after the restore of an older backup.

-- Raises the epochs of the given keys where the database has a lower one. Removes the contacts with
-- a former own id of such a key, if they existed before the purge. Returns the purges whose records
-- then have to be removed. These purges have no receipt. purged: [{keyId, epoch, number,
-- formerIds}].
create or replace function raise_purged_keys(ws uuid, purged jsonb) returns table (purge_id uuid)
  language plpgsql
  set enable_seqscan = off
  set plan_cache_mode = force_custom_plan
as $$
declare
  part record;
  contacts uuid[];
  waited_for uuid[];
  feedback uuid[];
begin
  if not lock_progress(ws) then return; end if;
  for part in
    select p.number, array_agg(p.key) as keys, array_agg(p.epoch) as epochs, jsonb_agg(p.former) as former
    from (
      select (k ->> 'number')::bigint as number, (k ->> 'keyId')::uuid as key, (k ->> 'epoch')::int as epoch,
        k -> 'formerIds' as former
      from jsonb_array_elements(purged) as k
    ) as p
    where p.epoch > coalesce((select e.epoch from purged_key as e where e.workspace_id = ws and e.key_id = p.key), 0)
    group by p.number order by p.number
  loop
    insert into purged_key as k (workspace_id, key_id, epoch, number)
    select g.workspace_id, u.key, u.epoch, part.number
    from workspace_progress as g cross join unnest(part.keys, part.epochs) as u (key, epoch)
    where g.workspace_id = ws
    on conflict (workspace_id, key_id) do update
    set epoch = greatest(k.epoch, excluded.epoch), number = greatest(k.number, excluded.number);
    update workspace_progress set purges = purges + 1 where workspace_id = ws;
    select e.contacts, e.feedback into contacts, feedback from records_to_end(ws, part.former, part.number) as e;
    waited_for := array(
      select f.id::uuid from jsonb_array_elements(part.former) as k cross join lateral jsonb_array_elements_text(k) as f (id)
      where exists (select from unresolved as u where u.workspace_id = ws and u.key_id = f.id::uuid and u.slot in ('c', 'm'))
    );
    continue when cardinality(contacts) + cardinality(waited_for) + cardinality(feedback) = 0;
    perform purge_contacts(ws, contacts);
    -- A purge has at most one `unresolved_key`, so each further key gets a purge of its own.
    for place in 1 .. greatest(1, cardinality(waited_for)) loop
      purge_id := gen_random_uuid();
      insert into purge (workspace_id, id, number, contact_ids, unresolved_key, feedback_ids, keys, subject_ids, contacts)
      values (ws, purge_id, part.number, contacts, waited_for[place], feedback, part.keys, '{}', cardinality(contacts));
      contacts := '{}';
      feedback := '{}';
      return next;
    end loop;
  end loop;
end $$;

-- The contacts and feedback with the given former own ids that existed before the purge. former:
-- lists of ids. Called alone in its statement, since Citus runs no function that reads a distributed
-- table inside a query of one.
create or replace function records_to_end(
  ws uuid, former jsonb, before_number bigint, out contacts uuid[], out feedback uuid[]
)
  language plpgsql stable
  set enable_seqscan = off
  set enable_bitmapscan = off
as $$
declare
  ids uuid[] := array(
    select f.id::uuid from jsonb_array_elements(former) as k cross join lateral jsonb_array_elements_text(k) as f (id)
  );
begin
  contacts := array(
    select c.id from contact as c where c.workspace_id = ws and c.id = any (ids) and c.first_number < before_number
  );
  feedback := array(
    select r.id from feedback as r where r.workspace_id = ws and r.id = any (ids) and r.number < before_number
  );
end $$;

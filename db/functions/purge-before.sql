-- Removes records of a purge under way before a later stride touches them (purge-remove.sql says
-- why).

-- Removes the records of pending purges among these feedback and conversations. Called before the
-- load of a stride that names these records: the stride then finds the same rows as after the whole
-- purge.
create or replace function remove_before(ws uuid, feedback_ids uuid[], conversation_ids uuid[]) returns void
  language plpgsql
  set enable_seqscan = off
  set enable_bitmapscan = off
  set plan_cache_mode = force_custom_plan
as $$
declare
  p purge;
  doomed uuid[];
begin
  if not exists (select from purge where workspace_id = ws) or not lock_progress(ws) then return; end if;
  for p in select * from purge where workspace_id = ws order by number loop
    doomed := array(
      select f.id from feedback as f
      where f.workspace_id = ws and f.id = any (feedback_ids) and (
        f.contact_id = any (p.contact_ids) or is_waiting(ws, p.unresolved_key, 'c', f.id)
      )
    );
    if cardinality(doomed) > 0 then perform remove_feedback(ws, p, doomed); end if;
    if cardinality(conversation_ids) > 0 then perform remove_in_conversations(ws, p, conversation_ids); end if;
  end loop;
end $$;

create or replace function is_waiting(ws uuid, key uuid, in_slot "char", record uuid) returns boolean
  language sql stable as $$
  select exists (
    select from unresolved as u where u.workspace_id = ws and u.key_id = key and u.slot = in_slot and u.record_id = record offset 0
  )
$$;

-- Removes all remaining data of a purge in these conversations.
create or replace function remove_in_conversations(ws uuid, p purge, conversation_ids uuid[]) returns void
  language plpgsql as $$
declare
  doomed uuid[];
  touched uuid[];
begin
  loop
    doomed := array(
      select m.id from unnest(conversation_ids) as v (id) cross join lateral (
        select k.id, k.contact_id from message as k where k.workspace_id = ws and k.conversation_id = v.id offset 0
      ) as m
      where m.contact_id = any (p.contact_ids) or is_waiting(ws, p.unresolved_key, 'm', m.id)
    );
    touched := array(
      select m.conversation_id from message as m where m.workspace_id = ws and m.id = any (doomed)
      union
      select o.conversation_id from conversation_contact as o
      where o.workspace_id = ws and o.conversation_id = any (conversation_ids) and o.contact_id = any (p.contact_ids)
    );
    exit when cardinality(touched) = 0;
    perform remove_from_conversations(ws, p, touched, doomed, null);
  end loop;
end $$;

-- Called before messages that wait for these keys get their contact. Removes the data of pending
-- purges in the conversations of these messages.
create or replace function remove_before_linking(ws uuid, key_ids uuid[]) returns void
  language plpgsql
  set enable_seqscan = off
  set enable_bitmapscan = off
  set plan_cache_mode = force_custom_plan
as $$
declare
  conversation_ids uuid[];
begin
  if not exists (select from purge where workspace_id = ws) then return; end if;
  conversation_ids := array(
    select distinct m.conversation_id
    from unresolved as u cross join lateral (
      select k.conversation_id from message as k where k.workspace_id = ws and k.id = u.record_id limit 1
    ) as m
    where u.workspace_id = ws and u.key_id = any (key_ids) and u.slot = 'm'
  );
  if cardinality(conversation_ids) > 0 then perform remove_before(ws, '{}', conversation_ids); end if;
end $$;

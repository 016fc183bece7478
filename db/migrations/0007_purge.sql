-- A purge in bounded steps: each is one transaction under the workspace's lock, removes at most `most` records accepted before
-- the purge's number, and can be repeated. Tags of what goes are counted off.

-- Feedback of the contacts, or that remembers the external id (`remembered`, a group) of a contact who never came.
-- What it said about accounts and projects holds: they stay.
create function purge_feedback(ws uuid, contacts uuid[], remembered uuid, before bigint, most int) returns int
  language plpgsql as $$
declare
  doomed uuid[];
begin
  perform lock_workspaces(array[ws]);
  doomed := array(
    select id from feedback where workspace_id = ws and contact_id = any (contacts) and number < before
    union
    select f.id from unresolved_reference as u
    join feedback as f on f.workspace_id = ws and f.id = u.record_id and f.number = u.number and f.contact_id is null
    where u.workspace_id = ws and u.ref_id = remembered and f.number < before
    limit most
  );
  perform count_tags(ws, jsonb_object_agg(t.title, -t.uses))
  from (
    select g.title, count(*) as uses from feedback as k, unnest(k.tags) as g (title)
    where k.workspace_id = ws and k.id = any (doomed) group by g.title
  ) as t
  having count(*) > 0;
  insert into superseded_reference (
    workspace_id, id, number, source, account_id, project_id, account_ref, project_ref, contact_given, account_given, project_given)
  select ws, id, number, source, account_id, project_id, account_ref, project_ref, false, account_given, project_given
  from feedback where workspace_id = ws and id = any (doomed) and (account_given or project_given)
  on conflict do nothing;
  delete from unresolved_reference where workspace_id = ws and record_id = any (doomed);
  delete from feedback where workspace_id = ws and id = any (doomed);
  return cardinality(doomed);
end $$;

create function purge_superseded(ws uuid, contacts uuid[], before bigint, most int) returns int
  language plpgsql as $$
declare
  doomed uuid[];
begin
  perform lock_workspaces(array[ws]);
  doomed := array(
    select distinct id from superseded_reference
    where workspace_id = ws and contact_id = any (contacts) and number < before limit most
  );
  delete from superseded_reference
  where workspace_id = ws and id = any (doomed) and contact_id = any (contacts) and number < before
    and not account_given and not project_given;
  update superseded_reference set contact_id = null, contact_ref = null, contact_given = false
  where workspace_id = ws and id = any (doomed) and contact_id = any (contacts) and number < before;
  return cardinality(doomed);
end $$;

create function purge_messages(ws uuid, contacts uuid[], before bigint, most int) returns int
  language plpgsql as $$
declare
  doomed uuid[];
begin
  perform lock_workspaces(array[ws]);
  doomed := array(
    select id from message where workspace_id = ws and contact_id = any (contacts) and number < before limit most
  );
  -- Noted before the last message is gone: the conversation may have to go with it.
  insert into conversation_contact (workspace_id, conversation_id, contact_id)
  select distinct ws, conversation_id, contact_id from message where workspace_id = ws and id = any (doomed)
  on conflict do nothing;
  delete from unresolved_reference where workspace_id = ws and record_id = any (doomed);
  delete from message where workspace_id = ws and id = any (doomed);
  return cardinality(doomed);
end $$;

-- Takes the contacts out of their conversations; one in which no other contact is left goes with all of its messages.
create function purge_conversations(ws uuid, contacts uuid[], before bigint, most int) returns int
  language plpgsql as $$
declare
  left_by uuid[];
  doomed uuid[];
begin
  perform lock_workspaces(array[ws]);
  left_by := array(
    select distinct c.id from conversation_contact as cc join conversation as c on c.workspace_id = ws and c.id = cc.conversation_id
    where cc.workspace_id = ws and cc.contact_id = any (contacts) and c.number < before limit most
  );
  delete from conversation_contact
  where workspace_id = ws and conversation_id = any (left_by) and contact_id = any (contacts);
  update conversation as c set contact_keys = array(
    select key_id from unnest(c.contact_keys) as key_id
    where not exists (
      select from identity_key as k where k.workspace_id = ws and k.id = key_id and k.subject_id = any (contacts)
    )
  )
  where c.workspace_id = ws and c.id = any (left_by);
  doomed := array(
    select c.id from unnest(left_by) as c (id)
    where not exists (select from conversation_contact where workspace_id = ws and conversation_id = c.id)
      and not exists (select from message where workspace_id = ws and conversation_id = c.id and contact_id is not null)
  );
  perform count_tags(ws, jsonb_object_agg(t.title, -t.uses))
  from (
    select g.title, count(*) as uses from conversation as k, unnest(k.tags) as g (title)
    where k.workspace_id = ws and k.id = any (doomed) group by g.title
  ) as t
  having count(*) > 0;
  delete from unresolved_reference as u using message as m
  where u.workspace_id = ws and m.workspace_id = ws and m.id = u.record_id and m.conversation_id = any (doomed);
  delete from message where workspace_id = ws and conversation_id = any (doomed);
  delete from conversation where workspace_id = ws and id = any (doomed);
  return cardinality(left_by);
end $$;

-- The contacts themselves, their keys and their claims. Emails that nobody else has claimed mean nobody from now on.
create function purge_identity(ws uuid, contacts uuid[]) returns int
  language plpgsql as $$
declare
  keys uuid[];
  emails uuid[];
  gone int;
begin
  perform lock_workspaces(array[ws]);
  keys := array(
    select id from identity_key
    where workspace_id = ws and subject_id = any (contacts) and kind in ('contact_external', 'contact_bare', 'contact_record')
  );
  emails := array(
    select key_id from identity_claim where workspace_id = ws and target_id = any (keys)
    union
    select id from identity_key where workspace_id = ws and id = any (contacts) and kind = 'contact_email'
  );
  update identity_key as k set orphaned = true
  where k.workspace_id = ws and k.id = any (emails) and (
    select c.target_id from identity_claim as c
    where c.workspace_id = ws and c.key_id = k.id and c.decides order by c.number limit 1
  ) = any (keys);
  delete from identity_claim where workspace_id = ws and target_id = any (keys);
  delete from contact_external_id where workspace_id = ws and key_id = any (keys);
  delete from identity_key where workspace_id = ws and id = any (keys);
  delete from identity_key as k
  where k.workspace_id = ws and k.id = any (emails)
    and not exists (select from identity_claim as c where c.workspace_id = ws and c.key_id = k.id and c.decides);
  delete from contact where workspace_id = ws and id = any (contacts);
  get diagnostics gone = row_count;
  return gone;
end $$;

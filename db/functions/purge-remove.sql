-- Removes the records of a decided purge in steps. The workspace applies no later submission until
-- the records are gone: so a step finds the rows as the purge found them.
--
-- A step finds records by contact: records of the purge's contacts, and records that wait for its
-- external id in the former epoch. After the restore of a backup, workers may have applied later
-- submissions to these contacts (raise_purged_keys): their records stay without a contact. Another
-- purge can affect the same conversation. Each purge removes its own data, and the purge that
-- leaves no contact removes the rest.

-- Removes a step of the oldest purge of a workspace that has records left. Returns whether there
-- was such a purge.
create or replace function remove_step(ws uuid, most int) returns boolean
  language plpgsql
  set enable_seqscan = off
as $$
declare
  purge_id uuid := (
    select p.id from purge as p where p.workspace_id = ws and not p.records_removed order by p.number limit 1);
begin
  if purge_id is null then return false; end if;
  perform purge_step(ws, purge_id, most);
  return true;
end $$;

-- Removes about `most` records. Returns how many it removed or changed; 0 if nothing is left.
create or replace function purge_step(ws uuid, purge_id uuid, most int) returns int
  language plpgsql
  set enable_seqscan = off
  set enable_bitmapscan = off
  set plan_cache_mode = force_custom_plan
as $$
declare
  p purge;
  doomed uuid[];
  conversations uuid[];
begin
  if not lock_progress(ws) then return 0; end if;
  select * into p from purge where workspace_id = ws and id = purge_id and not records_removed;
  if not found then return 0; end if;
  doomed := doomed_feedback(ws, p, most);
  if cardinality(doomed) > 0 then return remove_feedback(ws, p, doomed); end if;
  doomed := doomed_messages(ws, p, most);
  if cardinality(doomed) > 0 then
    conversations := array(
      select distinct m.conversation_id from message as m where m.workspace_id = ws and m.id = any (doomed));
  else
    conversations := doomed_conversations(ws, p, most);
  end if;
  if cardinality(conversations) > 0 then return remove_from_conversations(ws, p, conversations, doomed, most); end if;
  update purge set records_removed = true where workspace_id = ws and id = purge_id;
  return 0;
end $$;

create or replace function doomed_feedback(ws uuid, p purge, most int) returns uuid[]
  language plpgsql stable as $$
begin
  return array(
    select f.id from unnest(p.contact_ids) as c (id) cross join lateral (
      select k.id from feedback as k where k.workspace_id = ws and k.contact_id = c.id limit most
    ) as f
    union all
    select u.record_id from unresolved as u where u.workspace_id = ws and u.key_id = p.unresolved_key and u.slot = 'c'
    union all
    select f.id from feedback as f where f.workspace_id = ws and f.id = any (p.feedback_ids) and f.number < p.number
    limit most
  );
end $$;

create or replace function doomed_messages(ws uuid, p purge, most int) returns uuid[]
  language plpgsql stable as $$
begin
  return array(
    select m.id from unnest(p.contact_ids) as c (id) cross join lateral (
      select k.id from message as k where k.workspace_id = ws and k.contact_id = c.id limit most
    ) as m
    union all
    select u.record_id from unresolved as u where u.workspace_id = ws and u.key_id = p.unresolved_key and u.slot = 'm'
    limit most
  );
end $$;

-- The conversations that have contacts of a purge.
create or replace function doomed_conversations(ws uuid, p purge, most int) returns uuid[]
  language plpgsql stable as $$
begin
  return array(
    select distinct o.conversation_id from unnest(p.contact_ids) as c (id) cross join lateral (
      select k.conversation_id from conversation_contact as k where k.workspace_id = ws and k.contact_id = c.id limit most
    ) as o
    limit most
  );
end $$;

-- Removes feedback with its tags, its share of the tag memory and dead corrections. After the restore
-- of a backup, a purged contact can have feedback that was sent after the purge (raise_purged_keys):
-- that feedback stays without a contact.
create or replace function remove_feedback(ws uuid, p purge, doomed uuid[]) returns int
  language plpgsql as $$
declare
  before bigint;
  dead record;
  older uuid[] := array(
    select f.id from feedback as f where f.workspace_id = ws and f.id = any (doomed) and f.number < p.number);
  lost text[] := array(select unnest(f.tags) from feedback as f where f.workspace_id = ws and f.id = any (older));
begin
  perform take_off_sums(ws, doomed);
  perform forget_shares(ws, older);
  perform count_tags(ws, '{}', lost);
  perform forget_unresolved_in_slot(ws, doomed, 'c');
  perform forget_unresolved_in_slot(ws, older, 'a');
  perform end_similar(ws, older);
  delete from feedback where workspace_id = ws and id = any (older);
  perform end_empty_themes(ws);
  perform add_tombstones(ws, 'feedback', older);
  -- As for a conversation: the idempotency keys become free.
  update submission set subject_id = p.id
  where workspace_id = ws and subject_id = any (older) and acceptance_number < p.number;
  for dead in
    select d.id from dead_submission as d join submission as s on s.workspace_id = d.workspace_id and s.id = d.id
    where d.workspace_id = ws and d.keys && older and s.workspace_id = ws and s.operation = 'correct_feedback'
  loop
    perform purge_dead(ws, p.id, dead.id, null);
  end loop;
  if cardinality(older) < cardinality(doomed) then
    before := reserve_positions(ws, cardinality(doomed));
    update feedback set contact_id = null, change_position = before + array_position(doomed, id)
    where workspace_id = ws and id = any (doomed);
  end if;
  update purge set feedback = feedback + cardinality(older) where workspace_id = ws and id = p.id;
  return cardinality(doomed);
end $$;

-- Removes the unresolved references of records in this slot, record by record. A plan for an array
-- would read all waiting records of the workspace. The cast stops the planner from choosing the
-- primary key, which contains the slot.
create or replace function forget_unresolved_in_slot(ws uuid, records uuid[], of_slot text) returns void
  language plpgsql
  set plan_cache_mode = force_generic_plan
as $$
declare
  record uuid;
begin
  foreach record in array records loop
    delete from unresolved where workspace_id = ws and record_id = record and slot::text = of_slot;
  end loop;
end $$;

-- Removes the given messages and the purge's contacts from conversations. A conversation without
-- another contact is removed completely. The other messages of such a conversation go first, in
-- steps of `most` (null: all at once): until they are gone, the given messages or the contacts lead
-- to it. Returns how many messages and places it removed or changed.
create or replace function remove_from_conversations(ws uuid, p purge, conversations uuid[], doomed uuid[], most int) returns int
  language plpgsql as $$
declare
  left_empty uuid[] := conversations_left_empty(ws, p, conversations);
  others uuid[] := array(
    select m.id from unnest(left_empty) as v (id) cross join lateral (
      select k.id from message as k where k.workspace_id = ws and k.conversation_id = v.id offset 0
    ) as m
    where m.id <> all (doomed) limit most
  );
  removed int;
  places int;
  before bigint;
  lost text[];
begin
  -- With the purge as their subject, the idempotency keys of these submissions become free.
  update submission set subject_id = p.id
  where workspace_id = ws and subject_id = any (conversations) and acceptance_number < p.number;
  if cardinality(others) > 0 then return remove_messages(ws, p, others); end if;
  removed := remove_messages(ws, p, doomed);
  delete from conversation_contact
  where workspace_id = ws and conversation_id = any (conversations) and contact_id = any (p.contact_ids);
  get diagnostics places = row_count;
  lost := array(select unnest(c.tags) from conversation as c where c.workspace_id = ws and c.id = any (left_empty));
  perform forget_shares(ws, left_empty);
  perform count_tags(ws, '{}', lost);
  delete from conversation where workspace_id = ws and id = any (left_empty);
  perform add_tombstones(ws, 'conversation', left_empty);
  perform end_empty_themes(ws);
  before := reserve_positions(ws, cardinality(conversations));
  update conversation set change_position = before + array_position(conversations, id)
  where workspace_id = ws and id = any (conversations);
  update purge set conversations = purge.conversations + cardinality(left_empty) where workspace_id = ws and id = p.id;
  return removed + places;
end $$;

-- The conversations that a purge leaves without a contact: no other contact is listed or wrote a
-- message, and nothing was sent after the purge. A purge can have no contacts. Then a comparison by
-- `<> all` is true, even of null: so null has a test of its own.
create or replace function conversations_left_empty(ws uuid, p purge, conversations uuid[]) returns uuid[]
  language plpgsql stable as $$
begin
  return array(
    select v.id from unnest(conversations) as v (id)
    where not exists (
      select from conversation_contact as o
      where o.workspace_id = ws and o.conversation_id = v.id and o.contact_id <> all (p.contact_ids) offset 0
    ) and not exists (
      select from message as m
      where m.workspace_id = ws and m.conversation_id = v.id
        and ((m.contact_id is not null and m.contact_id <> all (p.contact_ids)) or m.number >= p.number)
      offset 0
    ) and exists (
      select from conversation as c where c.workspace_id = ws and c.id = v.id and c.number < p.number offset 0
    )
  );
end $$;

-- Removes messages. The text of their conversations changes, so these lose their tags, their meaning
-- and their share. They are tagged again when the purge is finished (`findShortened` in db/tags/retag.ts).
-- Messages that are newer than the purge stay without a contact, as in `remove_feedback`.
create or replace function remove_messages(ws uuid, p purge, doomed uuid[]) returns int
  language plpgsql as $$
declare
  gone uuid[];
  shortened uuid[];
  lost text[];
  before bigint := reserve_positions(ws, cardinality(doomed));
begin
  perform forget_unresolved_in_slot(ws, doomed, 'm');
  with deleted as (
    delete from message where workspace_id = ws and id = any (doomed) and number < p.number returning id, conversation_id
  )
  select coalesce(array_agg(id), '{}'), coalesce(array_agg(distinct conversation_id), '{}') into gone, shortened from deleted;
  if cardinality(gone) < cardinality(doomed) then
    update message set contact_id = null, change_position = before + array_position(doomed, id)
    where workspace_id = ws and id = any (doomed);
  end if;
  if cardinality(gone) = 0 then return cardinality(doomed); end if;
  perform forget_texts(ws, gone);
  perform add_tombstones(ws, 'message', gone);
  lost := array(select unnest(c.tags) from conversation as c where c.workspace_id = ws and c.id = any (shortened));
  perform subtract_shares(ws, shortened);
  perform subtract_meaning(ws, shortened);
  perform count_tags(ws, '{}', lost);
  before := reserve_positions(ws, cardinality(shortened));
  update conversation set tags = null, mood = null, kind = null, theme_id = null, tagger_version = null, purged_number = greatest(purged_number, p.number),
    change_position = before + array_position(shortened, id)
  where workspace_id = ws and id = any (shortened);
  update purge set messages = messages + cardinality(gone) where workspace_id = ws and id = p.id;
  return cardinality(doomed);
end $$;

-- Ends a purge whose records are removed, and completes its receipt. Returns the counts; null if it
-- was ended before, or the workspace is deleted.
create or replace function finish_purge(ws uuid, purge_id uuid, with_attempts int) returns jsonb
  language plpgsql
  set enable_seqscan = off
as $$
declare
  p purge;
  removed jsonb;
  last bigint;
begin
  if not lock_progress(ws) then return null; end if;
  delete from purge where workspace_id = ws and id = purge_id returning * into p;
  if not found then return null; end if;
  select g.change_position into last from workspace_progress as g where g.workspace_id = ws;
  removed := purge_counts(p.contacts, p.feedback, p.messages, p.conversations, p.dead_submissions);
  update submission set state = 'applied', attempts = with_attempts, finished_at = now(), counts = removed,
    change_position = last
  where workspace_id = ws and id = purge_id;
  if found then
    update workspace_progress set applied = applied + 1 where workspace_id = ws;
  end if;
  return removed;
end $$;

-- Conversations and messages: whoever has the highest number stands, record by record; what a submission leaves out stays.
-- A conversation's contacts add up. They are derived anew only where it was known.
create or replace function store_conversations(ws uuid, incoming conversation[], incoming_messages message[]) returns void
  language plpgsql as $$
declare
  touched uuid[] := array(select distinct id from unnest(incoming));
  known uuid[] := array(
    select c.id from unnest(touched) as c (id),
      lateral (select from conversation where workspace_id = ws and id = c.id offset 0) as held
  );
begin
  insert into conversation as k (
    workspace_id, id, external_id, source, title, rating, properties, created_at, updated_at, number, contact_keys)
  select distinct on (c.id)
    ws, c.id, c.external_id, c.source, c.title, c.rating, c.properties, c.created_at, c.updated_at, c.number,
    array(select distinct key from unnest(c.contact_keys) as key order by key)
  from unnest(incoming) as c order by c.id, c.number desc
  on conflict (workspace_id, id) do update set
    title = excluded.title, rating = excluded.rating, properties = excluded.properties,
    created_at = excluded.created_at, updated_at = excluded.updated_at, number = excluded.number
  where excluded.number > k.number;
  if cardinality(known) > 0 or cardinality(touched) < cardinality(incoming) then
    update conversation as k set contact_keys = more.keys
    from (
      select held.place, held.contact_keys as former, array(
        select key from unnest(held.contact_keys) as key
        union
        select key from unnest(incoming) as i, unnest(i.contact_keys) as key where i.id = c.id
        order by 1
      ) as keys
      from unnest(touched) as c (id),
        lateral (select ctid as place, contact_keys from conversation where workspace_id = ws and id = c.id offset 0) as held
    ) as more
    where k.workspace_id is not distinct from ws and k.ctid = more.place and more.former <> more.keys;
    perform derive_conversation_contacts(ws, known);
  end if;
  insert into conversation_contact (workspace_id, conversation_id, contact_id)
  select distinct ws, c.id, k.subject_id
  from unnest(incoming) as c, unnest(c.contact_keys) as key (id),
    lateral (select subject_id from identity_key where workspace_id = ws and id = key.id offset 0) as k
  where c.id <> all (known);
  perform store_messages(ws, incoming_messages);
end $$;

create or replace function derive_conversation_contacts(ws uuid, conversations uuid[]) returns void
  language plpgsql as $$
begin
  if cardinality(conversations) = 0 then return; end if;
  perform remove_before(ws, '{}', conversations);
  delete from conversation_contact where workspace_id = ws and conversation_id = any (conversations);
  insert into conversation_contact (workspace_id, conversation_id, contact_id)
  select distinct ws, c.id, k.subject_id
  from unnest(conversations) as of_id (id),
    lateral (select id, contact_keys from conversation where workspace_id = ws and id = of_id.id offset 0) as c,
    unnest(c.contact_keys) as key (id),
    lateral (select subject_id from identity_key where workspace_id = ws and id = key.id offset 0) as k;
end $$;

-- Mostly nothing is known of a message's conversation; its sender is mostly a key that its conversation identified, of which
-- there are few, looked up once each (in all 19 us a message, now 11).
create or replace function store_messages(ws uuid, said message[]) returns void
  language plpgsql as $$
declare
  has_known boolean := has_known_messages(ws, said);
  has_others boolean := exists (select from unnest(said) as m where m.contact_ref is not null and not m.contact_ref ? 'preferred');
  subject_of jsonb := (
    select jsonb_object_agg(p.key, k.subject_id)
    from (select distinct contact_ref ->> 'preferred' as key from unnest(said) where contact_ref ? 'preferred') as p,
      lateral (select subject_id from identity_key where workspace_id = ws and id = p.key::uuid offset 0) as k
  );
begin
  if has_known then
    said := latest_messages(ws, said);
    perform forget_missed(ws, said);
  end if;
  with judged as materialized (
    select m.*, held.place, (m.sender).missed, coalesce((subject_of ->> (m.contact_ref ->> 'preferred'))::uuid, (m.sender).id) as sender_id
    from (
      select s.*, case
        when s.contact_ref is not null and not s.contact_ref ? 'preferred' then resolve(ws, 'contact', s.contact_ref, s.number + 1, s.source)
      end as sender
      from unnest(said) as s
      offset 0
    ) as m
    left join lateral (select ctid as place from message where has_known and workspace_id = ws and id = m.id offset 0) as held on true
  ),
  replaced as (
    update message as k set
      incoming = m.incoming, contact_id = m.sender_id, content = m.content, source_url = m.source_url, raw_data = m.raw_data,
      created_at = m.created_at, number = m.number, contact_ref = m.contact_ref
    from judged as m where m.place is not null and k.workspace_id is not distinct from ws and k.ctid = m.place
  ),
  added as (
    insert into message (
      workspace_id, id, conversation_id, external_id, incoming, contact_id, content, source_url, raw_data, created_at,
      number, source, contact_ref)
    select ws, id, conversation_id, external_id, incoming, sender_id, content, source_url, raw_data, created_at,
      number, source, contact_ref
    from judged where place is null
  )
  insert into unresolved_reference (workspace_id, ref_id, record_id, number)
  select ws, u.ref_id, m.id, m.number + 1 from judged as m, unnest(m.missed) as u (ref_id) where has_others
  on conflict do nothing;
end $$;

-- Whether one of them can be stored already, or comes twice.
create or replace function has_known_messages(ws uuid, said message[]) returns boolean
  language plpgsql stable as $$
begin
  return (select count(distinct id) < count(*) from unnest(said)) or exists (
    select from (select distinct conversation_id as id from unnest(said)) as c,
      lateral (
        select from message where workspace_id is not distinct from ws and conversation_id = c.id limit 1 offset 0
      ) as held
  );
end $$;

-- Of several who say a message, stored or not, whoever has the highest number, unless that is stored.
create or replace function latest_messages(ws uuid, said message[]) returns message[]
  language plpgsql stable as $$
declare
  has_repeats boolean := (select count(distinct id) < count(*) from unnest(said));
begin
  return array(
    select m from unnest(said) as m
    left join lateral (select number from message where workspace_id = ws and id = m.id offset 0) as held on true
    where m.number > coalesce(held.number, 0)
      and (not has_repeats or not exists (select from unnest(said) as o where o.id = m.id and o.number > m.number))
  );
end $$;

-- What the versions before these messages remembered.
create or replace function forget_missed(ws uuid, said message[]) returns void
  language sql as $$
  delete from unresolved_reference where workspace_id is not distinct from ws and ctid = any (array(
    select u.ctid from unnest(said) as m,
      lateral (select ctid from unresolved_reference where workspace_id is not distinct from ws and record_id = m.id offset 0) as u
  ))
$$;

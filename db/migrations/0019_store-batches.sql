-- What stores a batch, with less work for Postgres once more; the rules stay those of the functions that are replaced. Figures:
-- processor time for each submission in batches of 500 (PostgreSQL 18.4, 2 cores). In all, feedback of new people took 107 us,
-- now 68; of known people 93, now 55; an identified contact 166, now 105; a conversation of 20 messages, 12 in a batch, 950,
-- now 780. The statements themselves cost 1.4 ms of each batch, so those that have nothing to do are not run.
--
-- store_feedback and answer_feedback of whole rows of feedback are called no more; whoever was storing when this came still does.

-- Can be inlined, so that a generated column costs an expression and no call (0.12 us, now 0.01). Doubles hold the times of this
-- century to the microsecond.
create or replace function acceptance_time(number bigint) returns timestamptz
  language sql immutable strict parallel safe
  return to_timestamp(number::double precision / 1000000);

-- Without a query where there are few keys: 1.0 us for facts without metadata, now 0.5; 4.8 us for those of two keys, now 2.4.
create or replace function metadata(facts jsonb) returns jsonb
  language plpgsql immutable strict parallel safe as $$
declare
  rest jsonb := facts - '{c:name,c:email,c:domain,c:contractValue,c:createdAt,c:updatedAt,k:email}'::text[];
  keys jsonb;
  key text;
  result jsonb := '{}';
begin
  if rest = '{}' then return rest; end if;
  keys := jsonb_path_query_array(rest, '$.keyvalue().key');
  if jsonb_array_length(keys) > 8 then
    return (select coalesce(jsonb_object_agg(substr(f.key, 3), f.value -> 1), '{}') from jsonb_each(rest) as f where starts_with(f.key, 'p:'));
  end if;
  for place in 0 .. jsonb_array_length(keys) - 1 loop
    key := keys ->> place;
    if starts_with(key, 'p:') then
      result := result || jsonb_build_object(substr(key, 3), rest -> key -> 1);
    end if;
  end loop;
  return result;
end $$;

-- A feedback as a worker says it. Columns that are null need not be there: parsing a batch cost 11 us a feedback, now 7.
create type said_feedback as (
  id uuid,
  description text,
  title text,
  is_transcript boolean,
  tags text[],
  rating double precision,
  source text,
  source_id text,
  source_data jsonb,
  number bigint,
  contact_ref jsonb,
  account_ref jsonb,
  project_ref jsonb
);

-- record: the feedback or conversation that it is about.
create type said_submission as (
  id uuid,
  number bigint,
  operation text,
  attempts integer,
  record uuid
);

-- Adds what is said to what is known, where it changes anything. What says nothing new is left out first: mostly find-or-create
-- gives what was given before. Only then is put together what several say of one. Nobody else writes a workspace that is locked,
-- so `on conflict` would only look twice and write each row in two steps.
create or replace function add_to_contacts(ws uuid, said contact[]) returns void
  language plpgsql as $$
declare
  news contact[];
  is_known boolean;
begin
  select array_agg(s), bool_or(known.place is not null) into news, is_known
  from unnest(said) as s
  left join lateral (
    select ctid as place, facts, account_number, first_number, last_identify_number, updated_at from contact
    where workspace_id = ws and id = s.id offset 0
  ) as known on true
  where known.place is null
    or s.first_number < known.first_number
    or s.last_identify_number > coalesce(known.last_identify_number, 0)
    or s.account_number > coalesce(known.account_number, 0)
    or not (
      (known.updated_at < acceptance_time(s.first_number) and known.facts ?& array(select jsonb_object_keys(s.facts)))
      or merge_facts(known.facts, s.facts) = known.facts
    );
  if news is null then return; end if;
  if (select count(distinct id) < count(*) from unnest(news)) then
    news := array(
      select row(
        ws, s.id, null, null, null,
        (array_agg(s.account_id order by s.account_number desc) filter (where s.account_id is not null))[1],
        null, null, null, null, null, all_facts(s.facts), max(s.account_number), min(s.first_number), max(s.last_identify_number)
      )::contact
      from unnest(news) as s group by s.id
    );
  end if;
  if not is_known then
    insert into contact (workspace_id, id, facts, account_id, account_number, first_number, last_identify_number)
    select ws, id, facts, account_id, account_number, first_number, last_identify_number from unnest(news);
    return;
  end if;
  with placed as materialized (
    select n.*, known.place from unnest(news) as n
    left join lateral (select ctid as place from contact where workspace_id = ws and id = n.id offset 0) as known on true
  ),
  added as (
    insert into contact (workspace_id, id, facts, account_id, account_number, first_number, last_identify_number)
    select ws, id, facts, account_id, account_number, first_number, last_identify_number from placed where place is null
  )
  update contact as k set
    facts = merge_facts(k.facts, n.facts),
    account_id = case when n.account_number > coalesce(k.account_number, 0) then n.account_id else k.account_id end,
    account_number = greatest(k.account_number, n.account_number),
    first_number = least(k.first_number, n.first_number),
    last_identify_number = greatest(k.last_identify_number, n.last_identify_number)
  from placed as n where n.place is not null and k.workspace_id is not distinct from ws and k.ctid = n.place;
end $$;

create or replace function add_to_accounts(ws uuid, said account[]) returns void
  language plpgsql as $$
declare
  news account[];
  is_known boolean;
begin
  select array_agg(s), bool_or(known.place is not null) into news, is_known
  from unnest(said) as s
  left join lateral (
    select ctid as place, facts, first_number, last_identify_number, updated_at from account
    where workspace_id = ws and id = s.id offset 0
  ) as known on true
  where known.place is null
    or s.first_number < known.first_number
    or s.last_identify_number > coalesce(known.last_identify_number, 0)
    or not (
      (known.updated_at < acceptance_time(s.first_number) and known.facts ?& array(select jsonb_object_keys(s.facts)))
      or merge_facts(known.facts, s.facts) = known.facts
    );
  if news is null then return; end if;
  if (select count(distinct id) < count(*) from unnest(news)) then
    news := array(
      select row(
        ws, s.id, null, null, null, null, null, null, null, null, all_facts(s.facts), min(s.first_number), max(s.last_identify_number)
      )::account
      from unnest(news) as s group by s.id
    );
  end if;
  if not is_known then
    insert into account (workspace_id, id, facts, first_number, last_identify_number)
    select ws, id, facts, first_number, last_identify_number from unnest(news);
    return;
  end if;
  with placed as materialized (
    select n.*, known.place from unnest(news) as n
    left join lateral (select ctid as place from account where workspace_id = ws and id = n.id offset 0) as known on true
  ),
  added as (
    insert into account (workspace_id, id, facts, first_number, last_identify_number)
    select ws, id, facts, first_number, last_identify_number from placed where place is null
  )
  update account as k set
    facts = merge_facts(k.facts, n.facts),
    first_number = least(k.first_number, n.first_number),
    last_identify_number = greatest(k.last_identify_number, n.last_identify_number)
  from placed as n where n.place is not null and k.workspace_id is not distinct from ws and k.ctid = n.place;
end $$;

-- The links of a name that references in the given reach have made: those that lead elsewhere than the one before.
create function restore_links(ws uuid, names uuid[], reached uuid[]) returns void
  language sql as $$
  insert into identity_claim (workspace_id, key_id, number, target_id, link)
  select ws, name_key, number, weak, true
  from (
    select g.name_key, g.number, g.weak, lag(g.weak) over (partition by g.name_key order by g.number) as former
    from references_to(ws, 'account', reached) as r, lateral (select * from given_of(r.account_ref, r.number) offset 0) as g
    where r.account_given and g.name_key = any (names)
  ) as links
  where former is distinct from weak
  on conflict do nothing
$$;

-- Names that came with a domain are linked to it. A link that repeats the one before it changes no answer, nor does one that
-- comes after a claim: neither is kept, which was a row in two indexes and three looks for each feedback (22 us, now 2). When a
-- link to elsewhere is put before links that were left out, the first of those is needed after all; the references that made
-- them are all still there.
create function store_links(ws uuid, given given_reference[], out changed uuid[], out appeared uuid[]) returns record
  language plpgsql as $$
declare
  links said_claim[];
  parted said_claim[];
  stored record;
begin
  changed := '{}';
  appeared := '{}';
  with named as (
    select g.name_key, g.number, g.weak, lag(g.weak) over of_name as former, lag(g.number) over of_name as former_number
    from unnest(given) as g where g.name_key is not null
    window of_name as (partition by g.name_key order by g.number)
  )
  select array_agg(n.claim), array_agg(n.claim) filter (where n.leads_away) into links, parted
  from (
    select row(g.name_key, 'account_name', g.number, g.weak, true, true)::said_claim as claim,
      held.target_id is distinct from g.weak and held.target_id is not null as leads_away
    from named as g
    left join lateral (
      select number, target_id, link from identity_claim
      where workspace_id = ws and key_id = g.name_key and decides and number <= g.number order by number desc limit 1
    ) as held on true
    where case
      when held.number is null or g.former_number > held.number then g.former is distinct from g.weak
      else held.link and held.target_id <> g.weak
    end
  ) as n;
  if links is null then return; end if;
  stored := store_claims(ws, links);
  changed := stored.changed;
  appeared := stored.appeared;
  if parted is null then return; end if;
  insert into identity_claim (workspace_id, key_id, number, target_id, link)
  select ws, l.key_id, later.number, later.weak, true
  from unnest(parted) as l,
    lateral (
      select g.number, g.weak
      from references_to(ws, 'account', reach(ws, array[l.key_id])) as r,
        lateral (select * from given_of(r.account_ref, r.number) offset 0) as g
      where r.account_given and g.name_key = l.key_id and g.number > l.number
      order by g.number limit 1
    ) as later
  on conflict do nothing;
end $$;

-- Mostly a claim repeats the one that holds already, or is the first on its key: neither changes an answer, and one look tells.
create or replace function store_claims(ws uuid, claims said_claim[], out changed uuid[], out appeared uuid[]) returns record
  language plpgsql as $$
begin
  changed := '{}';
  appeared := '{}';
  if cardinality(claims) = 0 then return; end if;
  with said as materialized (
    select c.*, known.place, known.exists_from
    from unnest(claims) as c
    left join lateral (
      select ctid as place, exists_from from identity_key where workspace_id = ws and id = c.key_id offset 0
    ) as known on true
  ),
  altered as (
    select distinct c.key_id
    from said as c
    left join lateral (
      select target_id from identity_claim
      where workspace_id = ws and key_id = c.key_id and not link and decides and number <= c.number order by number desc limit 1
    ) as last_claim on true
    cross join lateral (
      select case when last_claim.target_id is null then claim_at(ws, c.key_id, c.number) end as claim offset 0
    ) as before
    where c.decides and c.place is not null and case
      when last_claim.target_id is not null then not c.link and last_claim.target_id <> c.target_id
      else (before.claim).key_id is null or (before.claim).target_id <> c.target_id or (before.claim).link <> c.link
        or ((before.claim).number > c.number and c.link)
    end
  ),
  kept as (
    insert into identity_claim (workspace_id, key_id, number, target_id, link, decides)
    select ws, c.key_id, c.number, c.target_id, c.link, c.decides from said as c
    where c.place is null or not exists (
      select from identity_claim as i
      where i.workspace_id = ws and i.key_id = c.key_id and i.number = c.number and i.target_id = c.target_id offset 0
    )
  ),
  earliest as materialized (
    select key_id, kind, place, min(number) as number from said where exists_from is null or exists_from > number
    group by key_id, kind, place
  ),
  added as (
    insert into identity_key (workspace_id, id, kind, exists_from, subject_id)
    select ws, key_id, kind, number, key_id from earliest where place is null
  ),
  moved as (
    update identity_key as k set exists_from = least(k.exists_from, e.number) from earliest as e
    where e.place is not null and k.workspace_id is not distinct from ws and k.ctid = e.place
  )
  select array(select key_id from altered), array(select key_id from earliest) into changed, appeared;
  -- A name that was linked to a domain follows it.
  if cardinality(changed) > 0 then
    changed := changed || array(
      select c.key_id from unnest(changed) as t (id),
        lateral (select key_id from identity_claim where workspace_id is not distinct from ws and target_id = t.id and link offset 0) as c
    );
  end if;
end $$;

create or replace function store_given(ws uuid, given given_reference[], out changed uuid[], out appeared uuid[]) returns record
  language plpgsql as $$
declare
  linked record;
begin
  changed := '{}';
  appeared := '{}';
  if cardinality(given) = 0 then return; end if;
  with earliest as materialized (
    select g.weak, g.kind, known.place, min(g.number) as number from unnest(given) as g
    left join lateral (
      select ctid as place, said_from from identity_key where workspace_id = ws and id = g.weak offset 0
    ) as known on true
    where known.said_from is null or known.said_from > g.number
    group by g.weak, g.kind, known.place
  ),
  added as (
    insert into identity_key (workspace_id, id, kind, said_from, exists_from, subject_id)
    select ws, weak, kind, number, number, weak from earliest where place is null
  ),
  moved as (
    update identity_key as k set said_from = least(k.said_from, e.number), exists_from = least(k.exists_from, e.number)
    from earliest as e
    where e.place is not null and k.workspace_id is not distinct from ws and k.ctid = e.place
  )
  select coalesce(array_agg(weak), '{}') into appeared from earliest;
  linked := store_links(ws, given);
  changed := linked.changed;
  appeared := appeared || linked.appeared;
end $$;

create or replace function withdraw_given(ws uuid, given given_reference[]) returns uuid[]
  language plpgsql as $$
declare
  weak_keys uuid[];
  names uuid[];
  reached uuid[];
begin
  if cardinality(given) = 0 then return '{}'; end if;
  weak_keys := array(select distinct g.weak from unnest(given) as g);
  names := array(select distinct g.name_key from unnest(given) as g where g.name_key is not null);
  -- As long as the links stand: records that they led elsewhere are linked anew only afterwards.
  reached := coalesce(reach(ws, weak_keys || names), '{}');
  delete from identity_claim where workspace_id is not distinct from ws and ctid = any (array(
    select c.ctid from unnest(given) as g,
      lateral (
        select ctid from identity_claim where workspace_id = ws and key_id = g.name_key and number = g.number and link offset 0
      ) as c
  ));
  if found then
    perform restore_links(ws, names, reached);
  end if;
  update identity_key as k
  set said_from = kept.said_from, exists_from = least(kept.said_from, kept.claimed_from)
  from (
    select held.place, said.said_from,
      (select min(c.number) from identity_claim as c where c.workspace_id = ws and c.key_id = w.id) as claimed_from
    from unnest(weak_keys || names) as w (id)
    cross join lateral (select ctid as place from identity_key where workspace_id = ws and id = w.id offset 0) as held
    left join (
      select weak, min(number) as said_from
      from (
        select contact_ref ->> 'weak' as weak, number from references_to(ws, 'contact', reached) where contact_given
        union all
        select account_ref ->> 'weak', number from references_to(ws, 'account', reached) where account_given
        union all
        select project_ref ->> 'weak', number from references_to(ws, 'project', weak_keys || names) where project_given
      ) as kept_by
      group by weak
    ) as said on said.weak = w.id::text
  ) as kept
  where k.workspace_id is not distinct from ws and k.ctid = kept.place;
  return weak_keys || names;
end $$;

-- Every key of a part that a purge can have ended.
create function mentions_of(part jsonb) returns uuid[]
  language sql immutable as $$
  select array(
    select u.id::uuid from jsonb_array_elements(part -> 'keys') as k,
      lateral (values (k ->> 'id'), (k ->> 'group_id'), (k ->> 'home_id')) as u (id) where u.id is not null
    union
    select u.id::uuid from jsonb_array_elements(part -> 'claims') as c, lateral (values (c ->> 'key_id'), (c ->> 'target_id')) as u (id)
    union
    select (f ->> 'id')::uuid from jsonb_array_elements(part -> 'feedback') as f where f ->> 'source_id' is not null
    union
    select u.id::uuid
    from (
      select f -> 'contact_ref' as ref from jsonb_array_elements(part -> 'feedback') as f
      union all
      select m -> 'contact_ref' from jsonb_array_elements(part -> 'messages') as m
    ) as r,
      lateral (
        select r.ref ->> 'weak' union all select r.ref ->> 'preferred'
        union all select jsonb_array_elements_text(r.ref -> 'ids')
      ) as u (id)
    where jsonb_typeof(r.ref) = 'object' and u.id is not null
    union
    select (c ->> 'id')::uuid from jsonb_array_elements(part -> 'conversations') as c
    union
    select key::uuid from jsonb_array_elements(part -> 'conversations') as c, jsonb_array_elements_text(c -> 'contact_keys') as key
    union
    select (m ->> 'id')::uuid from jsonb_array_elements(part -> 'messages') as m
  )
$$;

create or replace function past_fences(ws uuid, part jsonb, out passed jsonb, out refused bigint[]) returns record
  language plpgsql stable as $$
begin
  passed := part;
  refused := '{}';
  -- Mostly nobody was ever purged, and the keys need not be read.
  if not exists (select from fence where workspace_id = ws) then return; end if;
  if not is_fenced(ws, mentions_of(part)) then return; end if;
  refused := array(
    select (f ->> 'number')::bigint from jsonb_array_elements(part -> 'feedback') as f
    where is_reference_ended(ws, nullif(f -> 'contact_ref', 'null'), (f ->> 'number')::bigint, f ->> 'source')
      or ended_after(ws, (f ->> 'id')::uuid, (f ->> 'number')::bigint)
    union
    select (k ->> 'said_from')::bigint from jsonb_array_elements(part -> 'keys') as k
    where ended_after(ws, (k ->> 'id')::uuid, (k ->> 'said_from')::bigint)
      and not exists (
        select from jsonb_array_elements(part -> 'conversations') as c where c -> 'number' = k -> 'said_from'
      )
    union
    select n from jsonb_array_elements(part -> 'conversations') as c, lateral (select (c ->> 'number')::bigint) as s (n)
    where is_conversation_ended(ws, c, part -> 'messages', n) or ended_after(ws, (c ->> 'id')::uuid, n)
  );
  passed := passed
    || case when part ? 'keys' then jsonb_build_object(
      'keys', (
        select coalesce(jsonb_agg(
          k || jsonb_build_object('id', id_at(ws, (k ->> 'id')::uuid, n), 'home_id', id_at(ws, (k ->> 'home_id')::uuid, n))
        ), '[]')
        from jsonb_array_elements(part -> 'keys') as k, lateral (select (k ->> 'said_from')::bigint) as s (n)
        where n <> all (refused) and not ended_after(ws, (k ->> 'id')::uuid, n)
      ),
      'claims', (
        select coalesce(jsonb_agg(
          c || jsonb_build_object('key_id', id_at(ws, (c ->> 'key_id')::uuid, n), 'target_id', id_at(ws, (c ->> 'target_id')::uuid, n))
        ), '[]')
        from jsonb_array_elements(part -> 'claims') as c, lateral (select (c ->> 'number')::bigint) as s (n)
        where n <> all (refused) and not ended_after(ws, (c ->> 'target_id')::uuid, n)
          and not ended_after(ws, (c ->> 'key_id')::uuid, n)
      )
    ) else '{}' end
    || case when part ? 'feedback' then jsonb_build_object('feedback', (
      select coalesce(jsonb_agg(
        f || jsonb_build_object('contact_ref', reference_at(ws, nullif(f -> 'contact_ref', 'null'), n))
      ), '[]')
      from jsonb_array_elements(part -> 'feedback') as f, lateral (select (f ->> 'number')::bigint) as s (n)
      where n <> all (refused)
    )) else '{}' end
    || case when part ? 'conversations' then jsonb_build_object(
      'conversations', (
        select coalesce(jsonb_agg(c || jsonb_build_object('contact_keys', (
          select coalesce(jsonb_agg(id_at(ws, key::uuid, n)), '[]') from jsonb_array_elements_text(c -> 'contact_keys') as key
          where not ended_after(ws, key::uuid, n)
        ))), '[]')
        from jsonb_array_elements(part -> 'conversations') as c, lateral (select (c ->> 'number')::bigint) as s (n)
        where n <> all (refused)
      ),
      'messages', (
        select coalesce(jsonb_agg(m || jsonb_build_object('contact_ref', reference_at(ws, nullif(m -> 'contact_ref', 'null'), n))), '[]')
        from jsonb_array_elements(part -> 'messages') as m, lateral (select (m ->> 'number')::bigint) as s (n)
        where n <> all (refused) and not ended_after(ws, (m ->> 'id')::uuid, n)
          and not is_reference_ended(ws, nullif(m -> 'contact_ref', 'null'), n, m ->> 'source')
      )
    ) else '{}' end;
end $$;

-- Feedback that comes for the first time, nearly all, is inserted; only what replaces a record is looked at further. superseded:
-- numbers of submissions that a later one had replaced already.
create function store_feedback(
  ws uuid, incoming said_feedback[], out changed uuid[], out appeared uuid[], out superseded bigint[]) returns record
  language plpgsql as $$
declare
  said record;
  answers answered_feedback[];
  has_doubles boolean;
  has_ids boolean := exists (
    select from unnest(incoming) as f where f.contact_ref ? 'ids' or f.account_ref ? 'ids' or f.project_ref ? 'ids'
  );
begin
  said := store_given(ws, array(
    select given_of(f.contact_ref, f.number) from unnest(incoming) as f
    where f.contact_ref ? 'weak'
      and (not f.contact_ref ? 'ids' or (resolve(ws, 'contact', f.contact_ref, f.number, f.source)).given)
    union all
    select given_of(f.account_ref, f.number) from unnest(incoming) as f
    where f.account_ref ? 'weak'
      and (not f.account_ref ? 'ids' or (resolve(ws, 'account', f.account_ref, f.number, f.source)).given)
    union all
    select given_of(f.project_ref, f.number) from unnest(incoming) as f
    where f.project_ref ? 'weak'
      and (not f.project_ref ? 'ids' or (resolve(ws, 'project', f.project_ref, f.number, f.source)).given)
  ));
  changed := said.changed;
  appeared := said.appeared;
  superseded := '{}';
  answers := answer_feedback(ws, incoming);
  has_doubles := exists (select from unnest(answers) as a where a.replaces or not a.wins);
  if has_doubles then
    perform keep_superseded(
      ws,
      array(
        select row(
          ws, f.id, f.description, f.title, f.is_transcript, f.tags, null, f.rating, f.source, f.source_id, f.source_data,
          null, null, null, null, null, f.number, null, f.contact_ref, f.account_ref, f.project_ref, null, null, null, null
        )::feedback
        from unnest(incoming) as f
      ),
      answers
    );
  end if;

  perform count_tags(ws, jsonb_object_agg(t.title, t.uses))
  from (
    select g.title, count(*) as uses
    from rows from (unnest(incoming), unnest(answers)) as f, unnest(f.tags) as g (title) where f.wins group by g.title
  ) as t
  having count(*) > 0;
  insert into feedback (
    workspace_id, id, description, title, is_transcript, tags, tags_generated, rating, source, source_id, source_data,
    number, first_number, contact_id, account_id, project_id,
    contact_ref, account_ref, project_ref, contact_given, account_given, project_given)
  select ws, f.id, f.description, f.title, f.is_transcript, f.tags, f.tags is null, f.rating, f.source, f.source_id, f.source_data,
    f.number, f.number, f.contact, f.account, f.project,
    f.contact_ref, f.account_ref, f.project_ref, f.by_contact, f.by_account, f.by_project
  from rows from (unnest(incoming), unnest(answers)) as f where f.wins and not f.replaces;
  if has_doubles then
    update feedback as k set
      description = f.description, title = f.title, is_transcript = f.is_transcript, tags = f.tags,
      tags_generated = f.tags is null, rating = f.rating, source = f.source, source_id = f.source_id,
      source_data = f.source_data, number = f.number, contact_id = f.contact, account_id = f.account, project_id = f.project,
      contact_ref = f.contact_ref, account_ref = f.account_ref, project_ref = f.project_ref,
      contact_given = f.by_contact, account_given = f.by_account, project_given = f.by_project
    from rows from (unnest(incoming), unnest(answers)) as f,
      lateral (select ctid as place from feedback where workspace_id = ws and id = f.id offset 0) as held
    where f.wins and f.replaces and k.workspace_id is not distinct from ws and k.ctid = held.place;
    update feedback as k set first_number = r.number
    from (select id, min(number) as number from unnest(incoming) group by id) as r,
      lateral (select ctid as place from feedback where workspace_id = ws and id = r.id and first_number > r.number offset 0) as held
    where k.workspace_id is not distinct from ws and k.ctid = held.place;
    superseded := array(
      select f.number
      from rows from (unnest(incoming), unnest(answers)) as f,
        lateral (select number from feedback where workspace_id = ws and id = f.id offset 0) as held
      where not f.wins and held.number > f.number
    );
  end if;

  if has_ids then
    -- Only added here: what a redelivered record remembers is for relink to clear, when it has linked it.
    insert into unresolved_reference (workspace_id, ref_id, record_id, number)
    select ws, u.ref_id, f.id, f.number
    from rows from (unnest(incoming), unnest(answers)) as f, unnest(f.missed) as u (ref_id)
    where cardinality(f.missed) > 0
      and exists (select from reference as k where k.workspace_id = ws and k.id = f.id and k.number = f.number offset 0)
    on conflict do nothing;
  end if;

  perform add_to_contacts(ws, array(
    select row(ws, f.contact, null, null, null, null, null, null, null, null, null,
      f.contact_ref -> 'given', null, f.number, null)::contact
    from rows from (unnest(incoming), unnest(answers)) as f where f.by_contact
  ));
  perform add_to_accounts(ws, array(
    select row(ws, f.account, null, null, null, null, null, null, null, null, f.account_ref -> 'given', f.number, null)::account
    from rows from (unnest(incoming), unnest(answers)) as f where f.by_account
  ));
  insert into project as k (workspace_id, id, name, first_number)
  select ws, f.project, min(f.project_ref -> 'given' ->> 'name'), min(f.number)
  from rows from (unnest(incoming), unnest(answers)) as f
  where f.by_project and not exists (
    select from project as known where known.workspace_id = ws and known.id = f.project and known.first_number <= f.number offset 0
  )
  group by f.project order by f.project
  on conflict (workspace_id, id) do update set first_number = excluded.first_number
  where k.first_number > excluded.first_number;

  if has_ids then
    -- Above, what was given counted wherever no id meant anybody. Meanwhile one may: of something given in this very batch.
    changed := changed || withdraw_given(ws, array(
      select given_of(s.ref, f.number)
      from rows from (unnest(incoming), unnest(answers)) as f,
        lateral (values
          (f.contact_ref, f.by_contact), (f.account_ref, f.by_account), (f.project_ref, f.by_project)
        ) as s (ref, given)
      where s.ref ? 'ids' and s.ref ? 'weak' and not s.given
    ));
  end if;
end $$;

-- Aligned with what comes in. Whole rows need not be sorted to find doubles in a batch (6.5 us a feedback, now 5.8).
create function answer_feedback(ws uuid, incoming said_feedback[]) returns answered_feedback[]
  language plpgsql stable as $$
declare
  has_repeats boolean := (select count(distinct id) < count(*) from unnest(incoming));
begin
  return (
    select array_agg(
      row(
        f.number > coalesce(held.number, 0)
          and (not has_repeats or not exists (select from unnest(incoming) as o where o.id = f.id and o.number > f.number)),
        held.number is not null,
        (c.answer).id, (a.answer).id, (p.answer).id, (c.answer).given, (a.answer).given, (p.answer).given,
        (c.answer).missed || (a.answer).missed || (p.answer).missed
      )::answered_feedback
      order by f.ordinality
    )
    from unnest(incoming) with ordinality as f
    left join lateral (select k.number from feedback as k where k.workspace_id = ws and k.id = f.id offset 0) as held on true,
      lateral (
        select case
          when f.contact_ref is null then row(null, false, '{}')::resolution
          when not f.contact_ref ? 'ids' and not exists (
            select from identity_claim as i where i.workspace_id = ws and i.key_id = (f.contact_ref ->> 'weak')::uuid offset 0
          ) then row((f.contact_ref ->> 'weak')::uuid, true, '{}')::resolution
          else resolve(ws, 'contact', f.contact_ref, f.number, f.source)
        end as answer
        offset 0
      ) as c,
      lateral (
        select case
          when f.account_ref is null then row(null, false, '{}')::resolution
          when not f.account_ref ? 'ids' and not exists (
            select from identity_claim as i where i.workspace_id = ws and i.key_id = (f.account_ref ->> 'weak')::uuid offset 0
          ) then row((f.account_ref ->> 'weak')::uuid, true, '{}')::resolution
          else resolve(ws, 'account', f.account_ref, f.number, f.source)
        end as answer
        offset 0
      ) as a,
      lateral (
        select case
          when f.project_ref is null then row(null, false, '{}')::resolution
          when not f.project_ref ? 'ids' then row((f.project_ref ->> 'weak')::uuid, true, '{}')::resolution
          else resolve(ws, 'project', f.project_ref, f.number, f.source)
        end as answer
        offset 0
      ) as p
  );
end $$;

-- One workspace's part of a batch: {keys, claims, feedback, conversations, messages, submissions}, rows in the tables'
-- own shapes; a feedback can bring its submission along, as `submission` and `attempts`. Redelivery changes nothing.
create or replace function store_part(ws uuid, part jsonb) returns setof submission
  language plpgsql as $$
declare
  identities record;
  said record;
  changed uuid[] := '{}';
  appeared uuid[] := '{}';
  touched uuid[] := '{}';
  superseded bigint[] := '{}';
  fenced record := past_fences(ws, part);
  has_purges boolean := exists (select from purge where workspace_id = ws);
  submissions said_submission[];
  states text[];
  settled bigint[];
  are_known boolean;
begin
  submissions := array(select s from jsonb_populate_recordset(null::said_submission, part -> 'submissions') as s) || array(
    select row(f.submission, f.number, 'create_feedback', f.attempts, f.id)::said_submission
    from jsonb_to_recordset(part -> 'feedback') as f (id uuid, number bigint, submission uuid, attempts integer)
    where f.submission is not null
  );
  -- Delivered again although it was settled before: a purge may have removed it meanwhile, so nothing of it is looked at.
  select coalesce(array_agg(d.number) filter (where s.state in ('applied', 'superseded', 'purged')), '{}'), count(*) > 0
  into settled, are_known
  from unnest(submissions) as d,
    lateral (select state from submission where workspace_id = ws and id = d.id offset 0) as s;
  if has_purges then
    perform remove_before(
      ws,
      array(select (f ->> 'id')::uuid from jsonb_array_elements(part -> 'feedback') as f),
      array(select (c ->> 'id')::uuid from jsonb_array_elements(part -> 'conversations') as c)
    );
  end if;
  if fenced.passed ? 'keys' then
    select * into identities from store_identities(
      ws,
      array(select k from jsonb_populate_recordset(null::identity_key, fenced.passed -> 'keys') as k where k.said_from <> all (settled)),
      array(select c from jsonb_populate_recordset(row(null, null, null, null, false, true)::said_claim, fenced.passed -> 'claims') as c where c.number <> all (settled))
    );
    changed := identities.changed;
    appeared := identities.appeared;
    touched := identities.touched;
  end if;
  if fenced.passed ? 'conversations' then
    perform store_conversations(
      ws,
      array(select c from jsonb_populate_recordset(null::conversation, fenced.passed -> 'conversations') as c where c.number <> all (settled)),
      array(select m from jsonb_populate_recordset(null::message, fenced.passed -> 'messages') as m where m.number <> all (settled))
    );
  end if;
  if fenced.passed ? 'feedback' then
    said := store_feedback(ws, array(
      select f from jsonb_populate_recordset(null::said_feedback, fenced.passed -> 'feedback') as f where f.number <> all (settled)
    ));
    changed := changed || said.changed;
    appeared := appeared || said.appeared;
    superseded := said.superseded;
  end if;
  -- Whoever comes late has been waited for by nobody, mostly: 2 us for each new contact.
  if cardinality(changed) > 0 or exists (select from unresolved_reference where workspace_id = ws) then
    touched := touched || relink(ws, changed, appeared);
  end if;
  if cardinality(touched) > 0 then
    perform gather(
      ws, array(select t from unnest(touched) as t except select unnest(contact_ids) from purge where workspace_id = ws)
    );
  end if;
  states := array(
    select case
      when s.number = any (fenced.refused) then 'purged'
      when s.operation = 'create_feedback' and s.number = any (superseded) then 'superseded'
      when s.operation = 'submit_conversation' and exists (
        select from conversation as c where c.workspace_id = ws and c.id = s.record and c.number > s.number offset 0
      ) then 'superseded'
      else 'applied'
    end
    from unnest(submissions) as s
  );
  if are_known then
    return query
    update submission as k set state = s.state, attempts = s.attempts, finished_at = now(), error = null
    from rows from (unnest(submissions), unnest(states)) as s (id, number, operation, attempts, record, state),
      lateral (
        select ctid as place from submission where workspace_id = ws and id = s.id and state in ('queued', 'dead') offset 0
      ) as held
    where k.workspace_id is not distinct from ws and k.ctid = held.place
    returning k.*;
  end if;
  return query
  insert into submission as k (workspace_id, id, acceptance_number, operation, state, attempts, finished_at)
  select ws, s.id, s.number, s.operation, s.state, s.attempts, now()
  from rows from (unnest(submissions), unnest(states)) as s (id, number, operation, attempts, record, state)
  where not are_known or not exists (select from submission as held where held.workspace_id = ws and held.id = s.id offset 0)
  returning k.*;
end $$;

-- What several submissions of a batch say about one key, put together.
create function sum_keys(keys identity_key[]) returns identity_key[]
  language plpgsql immutable as $$
declare
  repeated uuid[] := array(select id from unnest(keys) group by id having count(*) > 1);
begin
  if cardinality(repeated) = 0 then return keys; end if;
  return array(select n from unnest(keys) as n where n.id <> all (repeated)) || array(
    select row(
      null, n.id, min(n.kind), (array_agg(n.group_id))[1], (array_agg(n.home_id order by n.said_from))[1],
      (array_agg(n.source order by n.said_from))[1], min(n.external_id), min(n.said_from), max(n.last_number), all_facts(n.facts),
      (array_agg(n.account_id order by n.account_number desc) filter (where n.account_id is not null))[1],
      max(n.account_number), null, null, null
    )::identity_key
    from unnest(keys) as n where n.id = any (repeated) group by n.id
  );
end $$;

-- Writes keys, facts and external ids. A key that is the first of its group is written as it stays, with its contact or account,
-- and not regrouped (32 us for each new contact); anew are groups that got another key, or one that was said earlier than known.
create function store_keys(ws uuid, keys identity_key[], out anew uuid[], out appeared uuid[], out others identity_key[]) returns record
  language plpgsql as $$
declare
  shared uuid[] := array(select group_id from unnest(keys) group by group_id having count(*) > 1);
begin
  with said as materialized (
    select n.*, n as key, known.place, known.said_from as former_from,
      known.place is null and n.kind <> 'contact_bare' and n.group_id <> all (shared) and (n.group_id = n.id or not exists (
        select from identity_key as k where k.workspace_id is not distinct from ws and k.group_id = n.group_id offset 0
      )) as is_first
    from unnest(keys) as n
    left join lateral (
      select ctid as place, said_from from identity_key where workspace_id = ws and id = n.id offset 0
    ) as known on true
  ),
  added as (
    insert into identity_key (
      workspace_id, id, kind, group_id, home_id, source, external_id, said_from, last_number, facts,
      account_id, account_number, exists_from, subject_id)
    select ws, id, kind, group_id, home_id, source, external_id, said_from, last_number, facts,
      account_id, account_number, case when is_first then said_from end, id
    from said where place is null
  ),
  contact_listed as (
    insert into contact_external_id (workspace_id, key_id, source, external_id, contact_id)
    select ws, id, source, external_id, id from said where is_first and kind = 'contact_external'
  ),
  account_listed as (
    insert into account_external_id (workspace_id, key_id, source, external_id, account_id)
    select ws, id, source, external_id, id from said where is_first and kind = 'account_external'
  ),
  contact_added as (
    insert into contact (workspace_id, id, facts, account_id, account_number, first_number, last_identify_number)
    select ws, id, facts, account_id, account_number, said_from, last_number from said where is_first and kind = 'contact_external'
  ),
  account_added as (
    insert into account (workspace_id, id, facts, first_number, last_identify_number)
    select ws, id, facts, said_from, last_number from said where is_first and kind = 'account_external'
  ),
  moved as (
    update identity_key as k set
      facts = merge_facts(k.facts, n.facts),
      home_id = case when n.said_from < k.said_from then n.home_id else k.home_id end,
      source = case when n.said_from < k.said_from then n.source else k.source end,
      said_from = least(k.said_from, n.said_from),
      last_number = greatest(k.last_number, n.last_number),
      account_id = case when n.account_number > coalesce(k.account_number, 0) then n.account_id else k.account_id end,
      account_number = greatest(k.account_number, n.account_number)
    from said as n where n.place is not null and k.workspace_id is not distinct from ws and k.ctid = n.place
  )
  select
    array(
      select distinct group_id from said
      where not is_first and (place is null or former_from is null or said_from < former_from)
    ),
    array(select u.id from said as n, lateral (values (n.id), (n.group_id)) as u (id) where n.is_first),
    array(select key from said where not is_first)
  into anew, appeared, others;
end $$;

create or replace function store_identities(ws uuid, keys identity_key[], claims said_claim[])
  returns table (changed uuid[], appeared uuid[], touched uuid[])
  language plpgsql as $$
declare
  stored record;
  regrouped record;
  claimed record;
begin
  keys := sum_keys(keys);
  stored := store_keys(ws, keys);
  changed := '{}';
  appeared := stored.appeared;
  if cardinality(stored.anew) > 0 then
    regrouped := regroup(ws, stored.anew);
    changed := regrouped.changed;
    appeared := appeared || regrouped.appeared;
  end if;
  claimed := store_claims(ws, claims);
  changed := changed || claimed.changed;
  appeared := appeared || claimed.appeared;
  touched := '{}';
  if cardinality(changed) > 0 then
    -- A bare id that moved takes along what was said about it, so both contacts are gathered anew.
    touched := array(
      select k.id from unnest(changed) as c (id),
        lateral (
          select group_id from identity_key where workspace_id = ws and id = c.id and kind = 'contact_bare' offset 0
        ) as b,
        lateral (
          select id from identity_key where workspace_id is not distinct from ws and group_id = b.group_id and kind = 'contact_external' offset 0
        ) as k
    );
    perform derive_conversation_contacts(ws, array(
      select distinct c.conversation_id from unnest(touched) as t (id),
        lateral (select conversation_id from conversation_contact where workspace_id is not distinct from ws and contact_id = t.id offset 0) as c
    ));
  end if;
  if cardinality(stored.others) > 0 then
    perform add_to_contacts(ws, array(
      select row(ws, k.subject_id, null, null, null, n.account_id, null, null, null, null, null,
        n.facts, n.account_number, n.said_from, n.last_number)::contact
      from unnest(stored.others) as n,
        lateral (select subject_id from identity_key where workspace_id = ws and id = n.id offset 0) as k
      where n.kind in ('contact_external', 'contact_bare')
    ));
    perform add_to_accounts(ws, array(
      select row(ws, n.id, null, null, null, null, null, null, null, null, n.facts, n.said_from, n.last_number)::account
      from unnest(stored.others) as n where n.kind = 'account_external'
    ));
  end if;
  return next;
end $$;

-- Contacts of a conversation are derived anew only where it was known.
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

-- Of several who say a message, whoever has the highest number. Mostly nothing is known of its conversation; its sender is mostly
-- a key that its conversation identified, of which there are few, looked up once each (in all 19 us a message, now 11).
create or replace function store_messages(ws uuid, said message[]) returns void
  language plpgsql as $$
declare
  has_repeats boolean := (select count(distinct id) < count(*) from unnest(said));
  latest message[];
  replaced uuid[];
  has_others boolean;
  subject_of jsonb := (
    select jsonb_object_agg(p.key, k.subject_id)
    from (select distinct contact_ref ->> 'preferred' as key from unnest(said) where contact_ref ? 'preferred') as p,
      lateral (select subject_id from identity_key where workspace_id = ws and id = p.key::uuid offset 0) as k
  );
  senders resolution[];
begin
  if not has_repeats and not exists (
    select from (select distinct conversation_id as id from unnest(said)) as c,
      lateral (
        select from message where workspace_id is not distinct from ws and conversation_id = c.id limit 1 offset 0
      ) as held
  ) then
    latest := said;
    replaced := '{}';
    has_others := exists (select from unnest(said) as m where m.contact_ref is not null and not m.contact_ref ? 'preferred');
  else
    select array_agg(m), coalesce(array_agg(m.id) filter (where held.number is not null), '{}'),
      bool_or(m.contact_ref is not null and not m.contact_ref ? 'preferred')
    into latest, replaced, has_others
    from unnest(said) as m
    left join lateral (select number from message where workspace_id = ws and id = m.id offset 0) as held on true
    where m.number > coalesce(held.number, 0)
      and (not has_repeats or not exists (select from unnest(said) as o where o.id = m.id and o.number > m.number));
  end if;
  senders := array(
    select case
      when m.contact_ref is null then row(null, false, '{}')::resolution
      when m.contact_ref ? 'preferred' then row((subject_of ->> (m.contact_ref ->> 'preferred'))::uuid, false, '{}')::resolution
      else resolve(ws, 'contact', m.contact_ref, m.number + 1, m.source)
    end
    from unnest(latest) as m
  );
  if cardinality(replaced) > 0 then
    delete from unresolved_reference where workspace_id is not distinct from ws and ctid = any (array(
      select u.ctid from unnest(replaced) as m (id),
        lateral (select ctid from unresolved_reference where workspace_id is not distinct from ws and record_id = m.id offset 0) as u
    ));
    update message as k set
      incoming = m.incoming, contact_id = m.sender, content = m.content, source_url = m.source_url, raw_data = m.raw_data,
      created_at = m.created_at, number = m.number, contact_ref = m.contact_ref
    from rows from (unnest(latest), unnest(senders)) as m (
        workspace_id, id, conversation_id, external_id, incoming, contact_id, content, source_url, raw_data, created_at,
        number, source, contact_ref, sender, given, missed),
      lateral (select ctid as place from message where workspace_id = ws and id = m.id offset 0) as held
    where k.workspace_id is not distinct from ws and k.ctid = held.place;
  end if;
  insert into message (
    workspace_id, id, conversation_id, external_id, incoming, contact_id, content, source_url, raw_data, created_at,
    number, source, contact_ref)
  select ws, m.id, m.conversation_id, m.external_id, m.incoming, m.sender, m.content, m.source_url, m.raw_data, m.created_at,
    m.number, m.source, m.contact_ref
  from rows from (unnest(latest), unnest(senders)) as m (
    workspace_id, id, conversation_id, external_id, incoming, contact_id, content, source_url, raw_data, created_at,
    number, source, contact_ref, sender, given, missed)
  where m.id <> all (replaced);
  if has_others then
    insert into unresolved_reference (workspace_id, ref_id, record_id, number)
    select ws, u.ref_id, m.id, m.number + 1
    from rows from (unnest(latest), unnest(senders)) as m (
      workspace_id, id, conversation_id, external_id, incoming, contact_id, content, source_url, raw_data, created_at,
      number, source, contact_ref, sender, given, missed),
      unnest(m.missed) as u (ref_id)
    on conflict do nothing;
  end if;
end $$;

-- The version of a conversation's text without the text.
create function conversation_version(ws uuid, conversation uuid) returns text
  language sql stable as $$
  select md5(coalesce(string_agg(m.id || ' ' || m.number, ',' order by m.id), ''))
  from message as m
  where m.workspace_id is not distinct from ws and m.conversation_id = conversation and m.incoming
$$;

create or replace function store_tags(ws uuid, tagger integer, tagged jsonb, most_terms bigint) returns integer
  language plpgsql
  set enable_seqscan = off
  set enable_bitmapscan = off
as $$
declare
  standing tagged_record[];
  ids uuid[];
  deltas jsonb;
  memory tag_memory;
begin
  perform lock_workspaces(array[ws]);
  standing := array(
    select t from jsonb_populate_recordset(null::tagged_record, tagged) as t
    where case t.record
      when 'feedback' then exists (
        select from feedback as f
        where f.workspace_id = ws and f.id = t.id and f.number::text = t.text_version and f.tags_generated <> t.judged
        offset 0
      )
      else (
        exists (select from conversation as c where c.workspace_id = ws and c.id = t.id offset 0)
        and conversation_version(ws, t.id) = t.text_version
      )
    end
    order by t.id
  );
  ids := array(select id from unnest(standing));
  -- Mostly people's tags teach only, and nothing is given.
  if exists (select from unnest(standing) as t where not t.judged) then
    select jsonb_object_agg(title, delta) into deltas
    from (
      select title, sum(uses) as delta
      from (
        select g.title, 1 as uses from unnest(standing) as t, unnest(t.tags) as g (title) where not t.judged
        union all
        select unnest(tags), -1 from feedback where workspace_id = ws and id = any (ids) and tags_generated
        union all
        select unnest(tags), -1 from conversation where workspace_id = ws and id = any (ids)
      ) as changes
      group by title having sum(uses) <> 0
    ) as summed;
    update feedback as f set tags = t.tags, tagger_version = tagger
    from unnest(standing) as t, lateral (select ctid as place from feedback where workspace_id = ws and id = t.id offset 0) as held
    where not t.judged and t.record = 'feedback' and f.workspace_id is not distinct from ws and f.ctid = held.place;
    update conversation as c set tags = t.tags, tagger_version = tagger
    from unnest(standing) as t, lateral (select ctid as place from conversation where workspace_id = ws and id = t.id offset 0) as held
    where t.record = 'conversation' and c.workspace_id is not distinct from ws and c.ctid = held.place;
    if deltas is not null then
      perform count_tags(ws, deltas);
    end if;
  end if;
  perform take_out(ws, ids);
  insert into tag_share (
    workspace_id, record_id, number, text_version, tagger_version, judged, given, terms, hashes, traits, tag_hashes, titles)
  select ws, id, number, text_version, tagger, judged, given, cardinality(hashes), hashes, traits, tag_hashes, titles
  from unnest(standing);
  select * into memory from tag_memory where workspace_id = ws;
  perform forget_oldest(ws, true, memory.judged_terms - most_terms);
  perform forget_oldest(ws, false, memory.terms - memory.judged_terms - most_terms);
  return cardinality(ids);
end $$;

-- Under the lock like all that writes receipts: whoever stores them looks once and inserts.
create or replace function set_aside(ws uuid, dead_submission jsonb, dead_job text) returns void
  language plpgsql as $$
declare
  d record;
begin
  perform lock_workspaces(array[ws]);
  select * into d from jsonb_to_record(dead_submission)
    as r (id uuid, number bigint, operation text, attempts int, reason text, keys uuid[]);
  insert into submission as s (workspace_id, id, acceptance_number, operation, state, attempts, finished_at, error)
  values (ws, d.id, d.number, d.operation, 'dead', d.attempts, now(), d.reason)
  on conflict (workspace_id, id) do update
  set state = excluded.state, attempts = excluded.attempts, finished_at = excluded.finished_at, error = excluded.error
  where s.state = 'queued';
  -- A submission that was stored after all, by another delivery, is not dead.
  if exists (select from submission where workspace_id = ws and id = d.id and state = 'dead') then
    insert into dead_submission (workspace_id, id, reason, job, keys) values (ws, d.id, d.reason, dead_job, d.keys)
    on conflict (workspace_id, id) do update set reason = excluded.reason, died_at = excluded.died_at, replayed_at = null;
  end if;
end $$;

-- Storing a batch: one function call, so one statement for the driver and one transaction, which no dying connection can
-- tear apart. Under the workspace's lock every step sees all that was stored before; what it changes is derived again.

-- Every record that names a contact, account or project, in one shape.
create view reference as
  select 'feedback' as record, workspace_id, id, number, source, contact_id, account_id, project_id,
    contact_ref, account_ref, project_ref, contact_given, account_given, project_given
  from feedback
  union all
  select 'superseded', workspace_id, id, number, source, contact_id, account_id, project_id,
    contact_ref, account_ref, project_ref, contact_given, account_given, project_given
  from superseded_reference
  union all
  -- The contacts of a conversation are identified before its messages are read, hence the number after.
  select 'message', workspace_id, id, number + 1, source, contact_id, null, null,
    contact_ref, null, null, false, false, false
  from message;

-- One slot of one reference whose find-or-create part holds.
create type given_reference as (kind text, weak uuid, name_key uuid, number bigint);

create function given_of(ref jsonb, number bigint) returns given_reference
  language sql immutable
  return row(ref ->> 'weakKind', (ref ->> 'weak')::uuid, (ref ->> 'nameKey')::uuid, number)::given_reference;

-- A claim on a weak key, with the kind of the key, which may be new.
create type said_claim as (key_id uuid, kind text, number bigint, target_id uuid, link boolean, decides boolean);

-- Writes claims and links and says which weak keys now answer differently (changed) or exist earlier (appeared).
create function store_claims(ws uuid, claims said_claim[], out changed uuid[], out appeared uuid[])
  language plpgsql as $$
begin
  changed := array(
    select distinct c.key_id
    from unnest(claims) as c, claim_at(ws, c.key_id, c.number) as before
    where c.decides
      and (before.key_id is null or before.target_id <> c.target_id or before.link <> c.link
        or (before.number > c.number and c.link))
  );
  insert into identity_claim (workspace_id, key_id, number, target_id, link, decides)
  select ws, c.key_id, c.number, c.target_id, c.link, c.decides from unnest(claims) as c
  on conflict do nothing;
  -- A name that was linked to a domain follows it.
  changed := changed || array(
    select key_id from identity_claim where workspace_id = ws and target_id = any (changed) and link
  );
  with earliest as (
    insert into identity_key as k (workspace_id, id, kind, exists_from, subject_id)
    select ws, c.key_id, c.kind, min(c.number), c.key_id from unnest(claims) as c
    group by c.key_id, c.kind order by c.key_id
    on conflict (workspace_id, id) do update set exists_from = excluded.exists_from
    where k.exists_from is null or k.exists_from > excluded.exists_from
    returning id
  )
  select coalesce(array_agg(id), '{}') into appeared from earliest;
end $$;

-- What find-or-create gave counts: its weak keys exist, and a name that came with a domain is linked to it.
create function store_given(ws uuid, given given_reference[], out changed uuid[], out appeared uuid[])
  language plpgsql as $$
declare
  links said_claim[];
  linked record;
begin
  with earliest as (
    insert into identity_key as k (workspace_id, id, kind, said_from, exists_from, subject_id)
    select ws, g.weak, g.kind, min(g.number), min(g.number), g.weak from unnest(given) as g
    group by g.weak, g.kind order by g.weak
    on conflict (workspace_id, id) do update
    set said_from = least(k.said_from, excluded.said_from), exists_from = least(k.exists_from, excluded.exists_from)
    where k.said_from is null or k.said_from > excluded.said_from
    returning id
  )
  select coalesce(array_agg(id), '{}') into appeared from earliest;
  links := array(
    select row(g.name_key, 'account_name', g.number, g.weak, true, true)::said_claim
    from unnest(given) as g where g.name_key is not null
  );
  changed := '{}';
  if cardinality(links) > 0 then
    linked := store_claims(ws, links);
    changed := linked.changed;
    appeared := appeared || linked.appeared;
  end if;
end $$;

-- The opposite, when it turns out that an id of the same reference meant somebody after all.
create function withdraw_given(ws uuid, given given_reference[]) returns uuid[]
  language plpgsql as $$
declare
  weak_keys uuid[] := array(select distinct g.weak from unnest(given) as g);
  names uuid[] := array(select distinct g.name_key from unnest(given) as g where g.name_key is not null);
  -- As long as the links stand: records that they led elsewhere are linked anew only afterwards.
  reached uuid[] := coalesce(reach(ws, weak_keys || names), '{}');
begin
  delete from identity_claim as c using unnest(given) as g
  where c.workspace_id = ws and c.key_id = g.name_key and c.number = g.number and c.link;
  update identity_key as k
  set said_from = kept.said_from, exists_from = least(kept.said_from, kept.claimed_from)
  from (
    select w.id,
      (
        select min(r.number) from reference as r
        where r.workspace_id = ws
          and ((r.contact_id = any (reached) and r.contact_given and r.contact_ref ->> 'weak' = w.id::text)
            or (r.account_id = any (reached) and r.account_given and r.account_ref ->> 'weak' = w.id::text)
            or (r.project_id = w.id and r.project_given and r.project_ref ->> 'weak' = w.id::text))
      ) as said_from,
      (select min(c.number) from identity_claim as c where c.workspace_id = ws and c.key_id = w.id) as claimed_from
    from unnest(weak_keys || names) as w (id)
  ) as kept
  where k.workspace_id = ws and k.id = kept.id;
  return weak_keys || names;
end $$;

-- Every contact, account or project that the given keys, groups and own ids can have meant at any number.
create function reach(ws uuid, ids uuid[]) returns uuid[]
  language sql stable as $$
  with recursive step (id) as (
    select unnest(ids)
    union
    select further.id
    from step
    cross join lateral (
      select k.id from identity_key as k where k.workspace_id = ws and k.group_id = step.id
      union all
      select k.group_id from identity_key as k where k.workspace_id = ws and k.id = step.id and k.kind = 'contact_bare'
      union all
      select c.target_id from identity_claim as c where c.workspace_id = ws and c.key_id = step.id
    ) as further
  )
  select array_agg(id) from step
$$;

create function mentions(ref jsonb, ids text[]) returns boolean
  language sql immutable
  return coalesce(
    ref -> 'ids' ?| ids or ref ->> 'weak' = any (ids) or ref ->> 'preferred' = any (ids),
    false
  );

create type relinked as (
  record text,
  id uuid,
  number bigint,
  contact resolution,
  account resolution,
  project resolution,
  before_ids uuid[],
  now_given given_reference[],
  no_longer_given given_reference[]
);

-- Decides anew every reference that the changed keys can concern, until nothing moves any more: what a reference means
-- depends only on what is older than it, so this ends. Returns whose facts have to be gathered anew.
create function relink(ws uuid, changed uuid[], appeared uuid[]) returns uuid[]
  language plpgsql as $$
declare
  touched uuid[] := '{}';
  subjects uuid[];
  changed_text text[];
  moved relinked[];
  said record;
begin
  while cardinality(changed) > 0 or cardinality(appeared) > 0 loop
    subjects := coalesce(reach(ws, changed), '{}');
    changed_text := changed::text[];
    moved := array(
      select row(
        r.record, r.id, r.number, c, a, p,
        array_remove(array[r.contact_id, r.account_id, r.project_id], null),
        array_remove(array[
          case when c.given and not r.contact_given then given_of(r.contact_ref, r.number) end,
          case when a.given and not r.account_given then given_of(r.account_ref, r.number) end,
          case when p.given and not r.project_given then given_of(r.project_ref, r.number) end], null),
        array_remove(array[
          case when r.contact_given and not c.given then given_of(r.contact_ref, r.number) end,
          case when r.account_given and not a.given then given_of(r.account_ref, r.number) end,
          case when r.project_given and not p.given then given_of(r.project_ref, r.number) end], null)
      )::relinked
      from (
        select * from reference
        where workspace_id = ws and contact_id = any (subjects) and mentions(contact_ref, changed_text)
        union
        select * from reference
        where workspace_id = ws and account_id = any (subjects) and mentions(account_ref, changed_text)
        union
        select * from reference
        where workspace_id = ws and project_id = any (subjects) and mentions(project_ref, changed_text)
        union
        select r.* from unresolved_reference as u
        join reference as r on r.workspace_id = u.workspace_id and r.id = u.record_id and r.number = u.number
        where u.workspace_id = ws and u.ref_id = any (changed || appeared)
      ) as r,
      resolve(ws, 'contact', r.contact_ref, r.number, r.source) as c,
      resolve(ws, 'account', r.account_ref, r.number, r.source) as a,
      resolve(ws, 'project', r.project_ref, r.number, r.source) as p
      where (c.id, c.given, a.id, a.given, p.id, p.given)
        is distinct from (r.contact_id, r.contact_given, r.account_id, r.account_given, r.project_id, r.project_given)
    );
    update feedback as f
    set contact_id = (m.contact).id, account_id = (m.account).id, project_id = (m.project).id,
      contact_given = (m.contact).given, account_given = (m.account).given, project_given = (m.project).given
    from unnest(moved) as m where m.record = 'feedback' and f.workspace_id = ws and f.id = m.id;
    update superseded_reference as f
    set contact_id = (m.contact).id, account_id = (m.account).id, project_id = (m.project).id,
      contact_given = (m.contact).given, account_given = (m.account).given, project_given = (m.project).given
    from unnest(moved) as m where m.record = 'superseded' and f.workspace_id = ws and f.id = m.id and f.number = m.number;
    update message as f set contact_id = (m.contact).id
    from unnest(moved) as m where m.record = 'message' and f.workspace_id = ws and f.id = m.id;
    perform remember_unresolved(ws, m.id, m.number, (m.contact).missed || (m.account).missed || (m.project).missed)
    from unnest(moved) as m;
    touched := touched || array(
      select unnest(m.before_ids || array_remove(array[(m.contact).id, (m.account).id, (m.project).id], null))
      from unnest(moved) as m
    );
    said := store_given(ws, array(select g from unnest(moved) as m, unnest(m.now_given) as g));
    changed := said.changed || withdraw_given(ws, array(select g from unnest(moved) as m, unnest(m.no_longer_given) as g));
    appeared := said.appeared;
  end loop;
  return array(select distinct unnest(touched));
end $$;

create function remember_unresolved(ws uuid, record uuid, of_number bigint, missed uuid[]) returns void
  language plpgsql as $$
begin
  delete from unresolved_reference
  where workspace_id = ws and record_id = record and number = of_number and ref_id <> all (missed);
  insert into unresolved_reference (workspace_id, ref_id, record_id, number)
  select ws, m, record, of_number from unnest(missed) as m
  on conflict do nothing;
end $$;

-- Derives which external keys exist since when, and which one a bare external id belongs to: the oldest key of its group,
-- or, when it is older than all of them, the one it starts at home. Returns the keys and groups that changed.
create function regroup(ws uuid, groups uuid[]) returns uuid[]
  language plpgsql as $$
declare
  changed uuid[];
begin
  insert into identity_key (workspace_id, id, kind, group_id, source, external_id, subject_id)
  select ws, b.home_id, 'contact_external', b.group_id, b.source, b.external_id, b.home_id
  from identity_key as b
  where b.workspace_id = ws and b.group_id = any (groups) and b.kind = 'contact_bare'
    and not exists (
      select from identity_key as n
      where n.workspace_id = ws and n.group_id = b.group_id and n.kind = 'contact_external' and n.said_from <= b.said_from
    )
  on conflict do nothing;
  -- Windows and no joins: of a conversation with thousands of new contacts the planner knows no numbers, and a nested loop
  -- over them took seconds.
  with members as (
    select k.id, k.group_id, k.kind, k.source, k.said_from, k.exists_from as former_from, k.subject_id as former_subject,
      min(k.said_from) filter (where k.kind <> 'contact_bare') over same_id as named_from,
      min(k.said_from) filter (where k.kind = 'contact_bare') over same_id as bare_from,
      (array_agg(k.home_id) filter (where k.kind = 'contact_bare') over same_id)[1] as home_id
    from identity_key as k
    where k.workspace_id = ws and k.group_id = any (groups)
    window same_id as (partition by k.group_id)
  ),
  dated as (
    select *, case
      when kind = 'contact_bare' then said_from
      when id = home_id and (named_from is null or bare_from < named_from) then least(said_from, bare_from)
      else said_from
    end as exists_from
    from members
  ),
  derived as (
    select id, exists_from, former_from, former_subject, case
      when kind <> 'contact_bare' then id
      else first_value(id) over (
        partition by group_id order by kind = 'contact_bare', exists_from nulls last, source collate "C"
      )
    end as subject_id
    from dated
  ),
  moved as (
    update identity_key as k set exists_from = d.exists_from, subject_id = d.subject_id
    from derived as d
    where k.workspace_id = ws and k.id = d.id
      and (d.former_from, d.former_subject) is distinct from (d.exists_from, d.subject_id)
    returning k.id, k.group_id
  )
  select coalesce(array_agg(distinct u.id), '{}') into changed
  from moved as m, lateral (values (m.id), (m.group_id)) as u (id);
  -- A weak key that was claimed through a bare id follows it.
  changed := changed || array(
    select key_id from identity_claim where workspace_id = ws and target_id = any (changed) and not link
  );
  delete from contact_external_id as e using identity_key as k
  where e.workspace_id = ws and k.workspace_id = ws and k.id = e.key_id and k.group_id = any (changed) and k.exists_from is null;
  insert into contact_external_id (workspace_id, key_id, source, external_id, contact_id)
  select ws, id, source, external_id, id from identity_key
  where workspace_id = ws and group_id = any (changed) and kind = 'contact_external' and exists_from is not null
  on conflict do nothing;
  insert into account_external_id (workspace_id, key_id, source, external_id, account_id)
  select ws, id, source, external_id, id from identity_key
  where workspace_id = ws and group_id = any (changed) and kind = 'account_external' and exists_from is not null
  on conflict (workspace_id, key_id) do update set source = excluded.source;
  return changed;
end $$;

-- Puts together anew what is known about the given contacts, accounts and projects; those of which nothing is left go.
create function gather(ws uuid, subjects uuid[]) returns void
  language plpgsql as $$
begin
  delete from contact where workspace_id = ws and id = any (subjects);
  insert into contact (workspace_id, id, facts, account_id, account_number, first_number, last_identify_number)
  select ws, said.id, all_facts(said.facts),
    (array_agg(said.account_id order by said.account_number desc) filter (where said.account_id is not null))[1],
    max(said.account_number), min(said.first_number), max(said.last_number)
  from (
    select subject_id as id, facts, account_id, account_number, said_from as first_number, last_number from identity_key
    where workspace_id = ws and subject_id = any (subjects) and kind in ('contact_external', 'contact_bare')
      and said_from is not null
    union all
    select contact_id, contact_ref -> 'given', null, null, number, null from reference
    where workspace_id = ws and contact_id = any (subjects) and contact_given
  ) as said
  group by said.id;
  delete from account where workspace_id = ws and id = any (subjects);
  insert into account (workspace_id, id, facts, first_number, last_identify_number)
  select ws, said.id, all_facts(said.facts), min(said.first_number), max(said.last_number)
  from (
    select subject_id as id, facts, said_from as first_number, last_number from identity_key
    where workspace_id = ws and subject_id = any (subjects) and kind = 'account_external' and said_from is not null
    union all
    select account_id, account_ref -> 'given', number, null from reference
    where workspace_id = ws and account_id = any (subjects) and account_given
  ) as said
  group by said.id;
  delete from project where workspace_id = ws and id = any (subjects);
  insert into project (workspace_id, id, name, first_number)
  select ws, project_id, min(project_ref -> 'given' ->> 'name'), min(number) from reference
  where workspace_id = ws and project_id = any (subjects) and project_given
  group by project_id;
end $$;

-- Adds what one submission says to what is known, where it changes anything.
create function add_to_contacts(ws uuid, said contact[]) returns void
  language sql as $$
  insert into contact as k (workspace_id, id, facts, account_id, account_number, first_number, last_identify_number)
  select ws, s.id, all_facts(s.facts),
    (array_agg(s.account_id order by s.account_number desc) filter (where s.account_id is not null))[1],
    max(s.account_number), min(s.first_number), max(s.last_identify_number)
  from unnest(said) as s group by s.id order by s.id
  on conflict (workspace_id, id) do update set
    facts = merge_facts(k.facts, excluded.facts),
    account_id = case when excluded.account_number > coalesce(k.account_number, 0) then excluded.account_id else k.account_id end,
    account_number = greatest(k.account_number, excluded.account_number),
    first_number = least(k.first_number, excluded.first_number),
    last_identify_number = greatest(k.last_identify_number, excluded.last_identify_number)
  where excluded.first_number < k.first_number
    or excluded.last_identify_number > coalesce(k.last_identify_number, 0)
    or excluded.account_number > coalesce(k.account_number, 0)
    or merge_facts(k.facts, excluded.facts) <> k.facts
$$;

create function add_to_accounts(ws uuid, said account[]) returns void
  language sql as $$
  insert into account as k (workspace_id, id, facts, first_number, last_identify_number)
  select ws, s.id, all_facts(s.facts), min(s.first_number), max(s.last_identify_number)
  from unnest(said) as s group by s.id order by s.id
  on conflict (workspace_id, id) do update set
    facts = merge_facts(k.facts, excluded.facts),
    first_number = least(k.first_number, excluded.first_number),
    last_identify_number = greatest(k.last_identify_number, excluded.last_identify_number)
  where excluded.first_number < k.first_number
    or excluded.last_identify_number > coalesce(k.last_identify_number, 0)
    or merge_facts(k.facts, excluded.facts) <> k.facts
$$;

-- Categories exist exactly while something stored carries the tag: deltas are {title: how many records more or fewer}.
create function category_id(ws uuid, title text) returns uuid
  language sql immutable strict parallel safe
  return md5(ws::text || ':' || title)::uuid;

create function count_tags(ws uuid, deltas jsonb) returns void
  language plpgsql as $$
begin
  insert into feedback_category as c (workspace_id, id, title, uses)
  select ws, category_id(ws, key), key, value::bigint from jsonb_each_text(deltas) where value <> '0'
  order by category_id(ws, key)
  on conflict (workspace_id, id) do update set uses = c.uses + excluded.uses;
  delete from feedback_category
  where workspace_id = ws and uses <= 0
    and id = any (array(select category_id(ws, key) from jsonb_each_text(deltas) where starts_with(value, '-')));
end $$;

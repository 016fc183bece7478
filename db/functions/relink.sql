-- Linking anew: which stored references mean somebody else, now that keys answer differently.

-- Decides anew every reference that the changed keys can concern, until nothing moves any more: what a reference means
-- depends only on what is older than it, so this ends. Returns whose facts have to be gathered anew.
create or replace function relink(ws uuid, changed uuid[], appeared uuid[]) returns uuid[]
  language plpgsql as $$
declare
  touched uuid[] := '{}';
  concerned reference[];
  moved relinked[];
  said record;
  -- Contacts whose purge is under way: what is theirs stays marked as theirs until it is gone.
  ended uuid[] := array(select unnest(contact_ids) from purge where workspace_id = ws);
begin
  while cardinality(changed) > 0 or cardinality(appeared) > 0 loop
    concerned := concerned_references(ws, changed, appeared);
    exit when cardinality(concerned) = 0;
    moved := moved_references(ws, concerned, ended);
    perform link_anew(ws, moved);
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

-- References that the changed keys can concern, and those that remember what has appeared.
create or replace function concerned_references(ws uuid, changed uuid[], appeared uuid[]) returns reference[]
  language plpgsql stable as $$
declare
  subjects uuid[] := '{}';
  changed_text text[] := changed::text[];
begin
  if cardinality(changed) > 0 then
    subjects := coalesce(reach(ws, changed), '{}');
  end if;
  return array(
    select r from (
      select * from references_to(ws, 'contact', subjects) where mentions(contact_ref, changed_text)
      union
      select * from references_to(ws, 'account', subjects) where mentions(account_ref, changed_text)
      union
      select * from references_to(ws, 'project', subjects) where mentions(project_ref, changed_text)
      union
      select r.* from unnest(changed || appeared) as a (id),
        lateral (
          select record_id, number from unresolved_reference where workspace_id = ws and ref_id = a.id offset 0
        ) as u,
        lateral (
          select * from reference where workspace_id = ws and id = u.record_id and number = u.number offset 0
        ) as r
    ) as r
  );
end $$;

-- Every contact, account or project that the given keys, groups and own ids can have meant at any number.
create or replace function reach(ws uuid, ids uuid[]) returns uuid[]
  language plpgsql stable as $$
begin
  return (
    with recursive step (id) as (
      select unnest(ids)
      union
      select further.id
      from step
      cross join lateral (
        select k.id from identity_key as k where k.workspace_id is not distinct from ws and k.group_id = step.id
        union all
        select k.group_id from identity_key as k where k.workspace_id = ws and k.id = step.id and k.kind = 'contact_bare'
        union all
        select c.target_id from identity_claim as c where c.workspace_id = ws and c.key_id = step.id
        offset 0
      ) as further
    )
    select array_agg(id) from step
  );
end $$;

-- What is said about the given contacts, accounts or projects.
create or replace function references_to(ws uuid, slot text, subjects uuid[]) returns setof reference
  language plpgsql stable as $$
begin
  if slot = 'contact' then
    return query select r.* from unnest(subjects) as s (id),
      lateral (select * from reference where workspace_id is not distinct from ws and contact_id = s.id offset 0) as r;
  elsif slot = 'account' then
    return query select r.* from unnest(subjects) as s (id),
      lateral (select * from reference where workspace_id is not distinct from ws and account_id = s.id offset 0) as r;
  else
    return query select r.* from unnest(subjects) as s (id),
      lateral (select * from reference where workspace_id is not distinct from ws and project_id = s.id offset 0) as r;
  end if;
end $$;

create or replace function mentions(ref jsonb, ids text[]) returns boolean
  language sql immutable as $$
  select coalesce(
    ref -> 'ids' ?| ids or ref ->> 'weak' = any (ids) or ref ->> 'preferred' = any (ids),
    false
  )
$$;

-- Those of the references that mean somebody else now, or mean them by something else.
create or replace function moved_references(ws uuid, concerned reference[], ended uuid[]) returns relinked[]
  language plpgsql stable as $$
begin
  return array(
    select m::relinked
    from unnest(concerned) as r,
      resolve_unless_ended(ws, r, ended) as c,
      resolve(ws, 'account', r.account_ref, r.number, r.source) as a,
      resolve(ws, 'project', r.project_ref, r.number, r.source) as p,
      given_in(r.contact_ref, r.number) as by_contact,
      given_in(r.account_ref, r.number) as by_account,
      given_in(r.project_ref, r.number) as by_project,
      lateral (
        select r.record as record, r.id as id, r.number as number, c as contact, a as account, p as project,
          array_remove(array[r.contact_id, r.account_id, r.project_id], null) as before_ids,
          array_remove(array[
            case when c.given and not r.contact_given then by_contact end,
            case when a.given and not r.account_given then by_account end,
            case when p.given and not r.project_given then by_project end], null) as now_given,
          array_remove(array[
            case when r.contact_given and not c.given then by_contact end,
            case when r.account_given and not a.given then by_account end,
            case when r.project_given and not p.given then by_project end], null) as no_longer_given
      ) as m
    where (c.id, c.given, a.id, a.given, p.id, p.given)
      is distinct from (r.contact_id, r.contact_given, r.account_id, r.account_given, r.project_id, r.project_given)
  );
end $$;

create or replace function resolve_unless_ended(ws uuid, r reference, ended uuid[]) returns resolution
  language plpgsql stable as $$
declare
  result resolution;
begin
  if r.contact_id = any (ended) then
    result.id := r.contact_id;
    result.given := r.contact_given;
    result.missed := '{}';
    return result;
  end if;
  return resolve(ws, 'contact', r.contact_ref, r.number, r.source);
end $$;

create or replace function link_anew(ws uuid, moved relinked[]) returns void
  language plpgsql as $$
begin
  update feedback as f
  set contact_id = (m.contact).id, account_id = (m.account).id, project_id = (m.project).id,
    contact_given = (m.contact).given, account_given = (m.account).given, project_given = (m.project).given
  from unnest(moved) as m,
    lateral (select ctid as place from feedback where workspace_id = ws and id = m.id offset 0) as held
  where m.record = 'feedback' and f.workspace_id is not distinct from ws and f.ctid = held.place;
  update superseded_reference as f
  set contact_id = (m.contact).id, account_id = (m.account).id, project_id = (m.project).id,
    contact_given = (m.contact).given, account_given = (m.account).given, project_given = (m.project).given
  from unnest(moved) as m,
    lateral (
      select ctid as place from superseded_reference where workspace_id = ws and id = m.id and number = m.number offset 0
    ) as held
  where m.record = 'superseded' and f.workspace_id is not distinct from ws and f.ctid = held.place;
  perform remove_before(ws, '{}', array(
    select t.conversation_id
    from unnest(moved) as m, lateral (select conversation_id from message where workspace_id = ws and id = m.id offset 0) as t
    where m.record = 'message'
  ));
  update message as f set contact_id = (m.contact).id
  from unnest(moved) as m, lateral (select ctid as place from message where workspace_id = ws and id = m.id offset 0) as held
  where m.record = 'message' and f.workspace_id is not distinct from ws and f.ctid = held.place;
  perform remember_unresolved(ws, m.id, m.number, (m.contact).missed || (m.account).missed || (m.project).missed)
  from unnest(moved) as m;
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

-- Feedback: the submission with the highest number stands for the record; what the others said about contacts, accounts and
-- projects holds all the same. What comes for the first time, nearly all, is inserted; only what replaces a record is looked at
-- further. superseded: numbers of submissions that a later one had replaced already.
create or replace function store_feedback(
  incoming incoming_feedback[], out changed workspace_key[], out appeared workspace_key[], out superseded workspace_number[]
)
  language plpgsql as $$
declare
  named record;
  said record;
  resolved record;
begin
  superseded := '{}';
  named := given_by_feedback(incoming);
  said := store_all_given(coalesce(named.given, '{}'));
  changed := said.changed;
  appeared := said.appeared;
  resolved := resolve_references(incoming);
  perform add_feedback(incoming, resolved.answers);
  if resolved.has_doubles then
    superseded := replace_feedback(incoming, resolved.answers);
  end if;
  perform add_to_contacts(coalesce(resolved.contacts, '{}'));
  perform add_to_accounts(coalesce(resolved.accounts, '{}'));
  if named.has_projects then
    perform add_to_projects(incoming, resolved.answers);
  end if;
  if named.has_ids then
    perform remember_missed(incoming, resolved.answers);
    changed := changed || not_given_after_all(incoming, resolved.answers);
  end if;
end $$;

-- What the references of these feedback give, of those in which no id means anybody.
create or replace function given_by_feedback(
  incoming incoming_feedback[], out given new_given[], out has_ids boolean, out has_projects boolean
)
  language plpgsql stable as $$
begin
  select
    array_agg(c::new_given) filter (
      where coalesce(f.contact_ref ? 'weak', false)
        and (not f.contact_ref ? 'ids' or (resolve(f.workspace_id, 'contact', f.contact_ref, f.number, f.source)).given)
    )
    || array_agg(a::new_given) filter (
      where coalesce(f.account_ref ? 'weak', false)
        and (not f.account_ref ? 'ids' or (resolve(f.workspace_id, 'account', f.account_ref, f.number, f.source)).given)
    )
    || array_agg(p::new_given) filter (
      where coalesce(f.project_ref ? 'weak', false)
        and (not f.project_ref ? 'ids' or (resolve(f.workspace_id, 'project', f.project_ref, f.number, f.source)).given)
    ),
    bool_or(f.contact_ref ? 'ids' or f.account_ref ? 'ids' or f.project_ref ? 'ids'),
    bool_or(f.project_ref is not null)
  into given, has_ids, has_projects
  from unnest(incoming) as f,
    lateral (select f.workspace_id as workspace_id, g.* from given_in(f.contact_ref, f.number) as g) as c,
    lateral (select f.workspace_id as workspace_id, g.* from given_in(f.account_ref, f.number) as g) as a,
    lateral (select f.workspace_id as workspace_id, g.* from given_in(f.project_ref, f.number) as g) as p;
end $$;

-- What was given counted wherever no id meant anybody. Meanwhile one may: of something given in this very batch.
create or replace function not_given_after_all(incoming incoming_feedback[], answers answered_feedback[]) returns workspace_key[]
  language sql as $$
  select array(
    select k::workspace_key
    from (
      select f.workspace_id, array_agg(g) as given
      from rows from (unnest(incoming), unnest(answers)) as f,
        lateral (values
          (f.contact_ref, f.by_contact), (f.account_ref, f.by_account), (f.project_ref, f.by_project)
        ) as s (ref, given),
        given_in(s.ref, f.number) as g
      where s.ref ? 'ids' and s.ref ? 'weak' and not s.given
      group by f.workspace_id
    ) as w,
      lateral (select w.workspace_id as workspace_id, u.id as id from unnest(withdraw_given(w.workspace_id, w.given)) as u (id)) as k
  )
$$;

-- Who each feedback is from and about, whether it is the latest of its id, and what it gives those whom it alone names, in one pass.
-- The answers are in the order of what came in. Each pass over a batch costs about 1 us for each feedback.
create or replace function resolve_references(
  incoming incoming_feedback[],
  out answers answered_feedback[], out has_doubles boolean, out contacts new_contact[], out accounts new_account[]
)
  language plpgsql stable as $$
declare
  has_repeats boolean := (select count(distinct id) < count(*) from unnest(incoming));
begin
  select
    array_agg(a::answered_feedback order by r.ordinality), coalesce(bool_or(r.replaces or not r.wins), false),
    array_agg(gives_contact::new_contact) filter (where a.by_contact),
    array_agg(gives_account::new_account) filter (where a.by_account)
  into answers, has_doubles, contacts, accounts
  from (
    select u.*,
      case when contact_itself is null and contact_ref is not null then resolve(workspace_id, 'contact', contact_ref, number, source) end as contact,
      case when account_itself is null and account_ref is not null then resolve(workspace_id, 'account', account_ref, number, source) end as account,
      case when project_itself is null and project_ref is not null then resolve(workspace_id, 'project', project_ref, number, source) end as project
    from (
      select f.ordinality, f.workspace_id, f.number, f.source, f.contact_ref, f.account_ref, f.project_ref,
        f.number > coalesce(held.number, 0)
          and (not has_repeats or not exists (select from unnest(incoming) as o where o.workspace_id = f.workspace_id and o.id = f.id and o.number > f.number)) as wins,
        held.number is not null as replaces,
        c.id as contact_itself, a.id as account_itself, p.id as project_itself
      from unnest(incoming) with ordinality as f
      left join lateral (select k.number from feedback as k where k.workspace_id = f.workspace_id and k.id = f.id offset 0) as held on true,
        unclaimed_key(f.workspace_id, 'contact', f.contact_ref) as c (id),
        unclaimed_key(f.workspace_id, 'account', f.account_ref) as a (id),
        unclaimed_key(f.workspace_id, 'project', f.project_ref) as p (id)
      offset 0
    ) as u
    offset 0
  ) as r,
    lateral (
      select r.wins as wins, r.replaces as replaces, coalesce(r.contact_itself, (r.contact).id) as contact,
        coalesce(r.account_itself, (r.account).id) as account, coalesce(r.project_itself, (r.project).id) as project,
        r.contact_itself is not null or coalesce((r.contact).given, false) as by_contact,
        r.account_itself is not null or coalesce((r.account).given, false) as by_account,
        r.project_itself is not null or coalesce((r.project).given, false) as by_project,
        (r.contact).missed || (r.account).missed || (r.project).missed as missed
    ) as a,
    lateral (
      select r.workspace_id as workspace_id, a.contact as id, r.contact_ref -> 'given' as facts, null::uuid as account_id, null::bigint as account_number,
        r.number as first_number, null::bigint as last_identify_number
    ) as gives_contact,
    lateral (
      select r.workspace_id as workspace_id, a.account as id, r.account_ref -> 'given' as facts, r.number as first_number, null::bigint as last_identify_number
    ) as gives_account;
end $$;

-- Those that come for the first time, and the tags of all that stand for their record.
create or replace function add_feedback(incoming incoming_feedback[], answers answered_feedback[]) returns void
  language plpgsql as $$
begin
  perform count_all_tags(array_agg(t::new_uses))
  from (
    select f.workspace_id, g.title, count(*) as uses
    from rows from (unnest(incoming), unnest(answers)) as f, unnest(f.tags) as g (title) where f.wins group by f.workspace_id, g.title
  ) as t
  having count(*) > 0;
  insert into feedback (
    workspace_id, id, description, title, is_transcript, tags, tags_generated, rating, source, source_id, source_data, source_created_at,
    number, first_number, contact_id, account_id, project_id,
    contact_ref, account_ref, project_ref, contact_given, account_given, project_given)
  select f.workspace_id, f.id, f.description, f.title, f.is_transcript, f.tags, f.tags is null, f.rating, f.source, f.source_id, f.source_data, f.source_created_at,
    f.number, f.number, f.contact, f.account, f.project,
    f.contact_ref, f.account_ref, f.project_ref, f.by_contact, f.by_account, f.by_project
  from rows from (unnest(incoming), unnest(answers)) as f where f.wins and not f.replaces;
end $$;

-- Those whose record was there before, or comes twice in this batch. Returns the numbers of those that are superseded.
create or replace function replace_feedback(incoming incoming_feedback[], answers answered_feedback[]) returns workspace_number[]
  language plpgsql as $$
begin
  perform keep_superseded(incoming, answers);
  update feedback as k set
    description = f.description, title = f.title, is_transcript = f.is_transcript, tags = f.tags,
    tags_generated = f.tags is null, rating = f.rating, source = f.source, source_id = f.source_id,
    source_data = f.source_data, source_created_at = f.source_created_at, number = f.number, contact_id = f.contact, account_id = f.account, project_id = f.project,
    contact_ref = f.contact_ref, account_ref = f.account_ref, project_ref = f.project_ref,
    contact_given = f.by_contact, account_given = f.by_account, project_given = f.by_project
  from rows from (unnest(incoming), unnest(answers)) as f,
    lateral (select ctid as place from feedback where workspace_id = f.workspace_id and id = f.id offset 0) as held
  where f.wins and f.replaces and k.workspace_id is not distinct from f.workspace_id and k.ctid = held.place;
  update feedback as k set first_number = r.number
  from (select workspace_id, id, min(number) as number from unnest(incoming) group by workspace_id, id) as r,
    lateral (
      select ctid as place from feedback where workspace_id = r.workspace_id and id = r.id and first_number > r.number offset 0
    ) as held
  where k.workspace_id is not distinct from r.workspace_id and k.ctid = held.place;
  return array(
    select s::workspace_number
    from rows from (unnest(incoming), unnest(answers)) as f,
      lateral (select number from feedback where workspace_id = f.workspace_id and id = f.id offset 0) as held,
      lateral (select f.workspace_id as workspace_id, f.number as number) as s
    where not f.wins and held.number > f.number
  );
end $$;

-- Keeps what replaced submissions, stored before or coming too late, have said about contacts, accounts and projects.
create or replace function keep_superseded(incoming incoming_feedback[], answers answered_feedback[]) returns void
  language plpgsql as $$
declare
  replaced feedback[] := array(
    select k from rows from (unnest(incoming), unnest(answers)) as f,
      lateral (select k from feedback as k where k.workspace_id = f.workspace_id and k.id = f.id offset 0) as held (k)
    where f.wins and f.replaces
  );
begin
  insert into superseded_reference (
    workspace_id, id, number, source, contact_id, account_id, project_id,
    contact_ref, account_ref, project_ref, contact_given, account_given, project_given)
  select held.workspace_id, held.id, held.number, held.source, held.contact_id, held.account_id, held.project_id,
    held.contact_ref, held.account_ref, held.project_ref, held.contact_given, held.account_given, held.project_given
  from unnest(replaced) as held
  where held.contact_ref ? 'weak' or held.account_ref ? 'weak' or held.project_ref ? 'weak'
  union all
  select f.workspace_id, f.id, f.number, f.source, f.contact, f.account, f.project,
    f.contact_ref, f.account_ref, f.project_ref, f.by_contact, f.by_account, f.by_project
  from rows from (unnest(incoming), unnest(answers)) as f
  where not f.wins and (f.contact_ref ? 'weak' or f.account_ref ? 'weak' or f.project_ref ? 'weak')
    and not exists (select from feedback as k where k.workspace_id = f.workspace_id and k.id = f.id and k.number = f.number offset 0)
  on conflict do nothing;
  delete from unresolved_reference as k
  using unnest(replaced) as held,
    lateral (
      select ctid as place from unresolved_reference
      where workspace_id is not distinct from held.workspace_id and record_id = held.id and number = held.number offset 0
    ) as u
  where k.workspace_id is not distinct from held.workspace_id and k.ctid = u.place
    and not exists (
      select from superseded_reference as s
      where s.workspace_id = held.workspace_id and s.id = held.id and s.number = held.number offset 0
    );
  perform count_all_tags(array_agg(t::new_uses))
  from (
    select held.workspace_id, g.title, -count(*) as uses
    from unnest(replaced) as held, unnest(held.tags) as g (title) group by held.workspace_id, g.title
  ) as t
  having count(*) > 0;
end $$;

create or replace function add_to_projects(incoming incoming_feedback[], answers answered_feedback[]) returns void
  language plpgsql as $$
begin
  insert into project as k (workspace_id, id, name, first_number)
  select f.workspace_id, f.project, min(f.project_ref -> 'given' ->> 'name'), min(f.number)
  from rows from (unnest(incoming), unnest(answers)) as f
  where f.by_project and not exists (
    select from project as known where known.workspace_id = f.workspace_id and known.id = f.project and known.first_number <= f.number offset 0
  )
  group by f.workspace_id, f.project order by f.workspace_id, f.project
  on conflict (workspace_id, id) do update set first_number = excluded.first_number
  where k.first_number > excluded.first_number;
end $$;

-- The ids that meant nobody. They are only added here: what a redelivered record remembers is for relink to clear, when it has
-- linked it.
create or replace function remember_missed(incoming incoming_feedback[], answers answered_feedback[]) returns void
  language plpgsql as $$
begin
  insert into unresolved_reference (workspace_id, ref_id, record_id, number)
  select f.workspace_id, u.ref_id, f.id, f.number
  from rows from (unnest(incoming), unnest(answers)) as f, unnest(f.missed) as u (ref_id)
  where cardinality(f.missed) > 0
    and exists (select from reference as k where k.workspace_id = f.workspace_id and k.id = f.id and k.number = f.number offset 0)
  on conflict do nothing;
end $$;

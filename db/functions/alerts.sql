-- The look for alerts (worker/alerts/look.ts). It counts the days again that have changed feedback, by
-- the change position, and compares the counts. Any worker can repeat each step.

-- Notes that a workspace has new texts: a look is due after 50 of them, or after an hour, but not within
-- a minute of the last one. The caller holds the lock.
create or replace function note_texts(ws uuid, more integer) returns void
  language plpgsql
  set enable_seqscan = off
as $$
declare
  enough constant integer := 50;
  at constant timestamptz := clock_timestamp();
  latest constant timestamptz := at + interval '1 hour';
  before integer := 0;
  looked timestamptz;
begin
  if more = 0 then return; end if;
  select l.texts, l.looked_at into before, looked from alert_look as l where l.workspace_id = ws;
  if not found then
    insert into alert_look (workspace_id, texts, due_at)
    select g.workspace_id, more, latest from workspace_progress as g where g.workspace_id = ws;
    before := 0;
  else
    update alert_look as l set texts = l.texts + more, due_at = least(l.due_at, latest) where l.workspace_id = ws;
  end if;
  if before + more < enough then return; end if;
  looked := greatest(at, looked + interval '1 minute');
  update alert_look as l set due_at = least(l.due_at, looked) where l.workspace_id = ws;
end $$;

-- Marks the days to count again: those of the next changed feedback, or in the first look all days since
-- `first_day`. Returns whether there may be more.
create or replace function mark_stale_days(ws uuid, first_day date, today date) returns boolean
  language plpgsql
  set enable_seqscan = off
  set enable_bitmapscan = off
  set enable_sort = off
  set plan_cache_mode = force_generic_plan
as $$
declare
  at_once constant integer := 5000;
  l alert_look;
  days date[];
  up_to bigint;
  seen integer;
begin
  select * into l from alert_look as k where k.workspace_id = ws;
  if not found then return false; end if;
  if l.position is null then
    days := array(select g.day::date from generate_series(first_day, today, '1 day') as g (day));
    up_to := (select g.change_position from workspace_progress as g where g.workspace_id = ws);
    seen := 0;
  else
    select coalesce(array_agg(distinct n.day), '{}'), coalesce(max(n.at), l.position), count(*) into days, up_to, seen
    from (
      select f.change_position as at, (f.created_at at time zone 'utc')::date as day from feedback as f
      where f.workspace_id = ws and f.change_position > l.position order by f.change_position limit at_once
    ) as n;
  end if;
  if not lock_progress(ws) then return false; end if;
  l.stale_days := (select k.stale_days from alert_look as k where k.workspace_id = ws);
  days := array(
    select distinct d.day from unnest(l.stale_days || days) as d (day) where d.day between first_day and today order by d.day);
  update alert_look as k set position = up_to, stale_days = days
  where k.workspace_id = ws and k.position is not distinct from l.position;
  return seen = at_once;
end $$;

-- Counts the people of one day again, by at most 10,000 of its texts, the latest. A contact is a person.
-- Of the texts of a source without a contact, at most three count as people in an hour, so no import of
-- such texts rings a bell. It counts before it takes the lock, so submissions do not wait for it. If
-- another worker has counted meanwhile, the day stays stale.
create or replace function count_alert_day(ws uuid, of_day date) returns void
  language plpgsql
  set enable_seqscan = off
  set enable_bitmapscan = off
  set enable_hashjoin = off
  set enable_mergejoin = off
  set plan_cache_mode = force_custom_plan
as $$
declare
  most_texts constant integer := 10000;
  most_without_contact constant double precision := 3;
  begins constant timestamptz := of_day::timestamp at time zone 'utc';
  ends constant timestamptz := (of_day + 1)::timestamp at time zone 'utc';
  subjects text[]; keys text[]; sources text[]; counts double precision[];
  counted_before constant bigint := (select l.counted from alert_look as l where l.workspace_id = ws);
begin
  with f as materialized (
    select r.*, c.account_id as account_of_contact, t.id as theme, r.rating between s.scale_low and s.scale_high as is_rated,
      (r.rating - s.scale_low) / (s.scale_high - s.scale_low) <= 0.4 as is_bad,
      case when r.contact_id is null then least(1, most_without_contact / count(*) over (
        partition by r.source, r.contact_id is null, date_trunc('hour', r.created_at))) else 1 end as weight
    from (
      select k.id, k.source, k.contact_id, k.account_id, k.theme_id, k.kind, k.tags, k.rating, k.created_at from feedback as k
      where k.workspace_id = ws and k.created_at >= begins and k.created_at < ends and not k.is_hidden
      order by k.created_at desc, k.id desc limit most_texts
    ) as r
    left join lateral (select k.account_id from contact as k where k.workspace_id = ws and k.id = r.contact_id offset 0) as c on true
    left join lateral (select k.shown_id from theme as k where k.workspace_id = ws and k.id = r.theme_id offset 0) as m on true
    left join lateral (select k.id from theme as k where k.workspace_id = ws and k.id = m.shown_id and not k.is_hidden offset 0) as t on true
    left join lateral (
      select k.scale_low, k.scale_high from source as k where k.workspace_id = ws and k.source = r.source offset 0
    ) as s on true
  ), p as (
    select k.subject, k.key, k.source, max(f.weight) as weight
    from f cross join lateral (
      values ('people', '', f.source, true), ('theme', f.theme::text, f.source, true), ('kind', f.kind, f.source, true),
        ('rated', '', f.source, f.is_rated), ('unhappy', '', f.source, f.is_rated and f.is_bad),
        ('account rated', coalesce(f.account_id, f.account_of_contact)::text, '', f.is_rated),
        ('account unhappy', coalesce(f.account_id, f.account_of_contact)::text, '', f.is_rated and f.is_bad)
      union all
      select 'tag', category_id(ws, u.tag)::text, f.source, true from unnest(f.tags) as u (tag)
    ) as k (subject, key, source, counts)
    where k.counts and k.key is not null
    group by k.subject, k.key, k.source, coalesce(f.contact_id, f.id)
  )
  select array_agg(g.subject), array_agg(g.key), array_agg(g.source), array_agg(g.people)
  into subjects, keys, sources, counts
  from (select p.subject, p.key, p.source, sum(p.weight) as people from p group by p.subject, p.key, p.source) as g;
  if not lock_progress(ws) then return; end if;
  update alert_look as l set counted = l.counted + 1, stale_days = array_remove(l.stale_days, of_day)
  where l.workspace_id = ws and l.counted = counted_before;
  if not found then return; end if;
  delete from alert_count as a where a.workspace_id = ws and a.day = of_day;
  insert into alert_count (workspace_id, subject, key, day, source, people)
  select g.workspace_id, n.subject, n.key, of_day, n.source, n.people
  from workspace_progress as g cross join unnest(subjects, keys, sources, counts) as n (subject, key, source, people)
  where g.workspace_id = ws;
end $$;

-- The counts since `first_day`: of each key, by its days. Only the tags and the accounts that can be told,
-- at most 500 of each: tags with so many people in the last week, accounts with so many raters in the last
-- four. A tag that names a theme is told as the theme.
create or replace function read_alert_counts(ws uuid, first_day date, today date, least_people integer)
returns table (subject text, key text, source text, days integer[], people double precision[])
  language plpgsql stable
  set enable_seqscan = off
  set plan_cache_mode = force_custom_plan
as $$
declare
  most constant integer := 500;
  of_themes text[] := array(select category_id(ws, t.title)::text from theme as t where t.workspace_id = ws and t.title is not null);
  recent text[] := array(select k.name from (
    select c.subject || ' ' || c.key as name, row_number() over (partition by c.subject order by sum(c.people) desc) as place
    from alert_count as c
    where c.workspace_id = ws and c.day > today - 28 and (c.subject = 'tag' and c.day > today - 7 or c.subject = 'account rated')
      and not (c.subject = 'tag' and c.key = any (of_themes))
    group by c.subject, c.key having sum(c.people) >= least_people
  ) as k where k.place <= most);
begin
  return query
    select c.subject, c.key, c.source, array_agg(c.day - first_day), array_agg(c.people)
    from alert_count as c
    where c.workspace_id = ws and c.day between first_day and today
      and (c.subject not in ('tag', 'account rated', 'account unhappy')
        or replace(c.subject, 'unhappy', 'rated') || ' ' || c.key = any (recent))
    group by c.subject, c.key, c.source;
end $$;

-- How many themes, kinds and tags have at least so many people.
create or replace function count_alert_keys(ws uuid, first_day date, today date, least_people integer)
returns table (subject text, keys integer)
  language plpgsql stable
  set enable_seqscan = off
  set plan_cache_mode = force_custom_plan
as $$
begin
  return query
    select k.subject, count(*)::integer
    from (
      select c.subject, c.key from alert_count as c
      where c.workspace_id = ws and c.subject in ('theme', 'kind', 'tag') and c.day between first_day and today
      group by c.subject, c.key having sum(c.people) >= least_people
    ) as k group by k.subject;
end $$;

-- Stores what a look has found, and ends it, unless another look has ended after the first `seen` ones. alerts:
-- [{id, subject, change, key, days, people, expected}]. digest: {id, week, changes}, or null. Returns
-- whether it did.
create or replace function store_look(ws uuid, seen integer, seen_texts integer, first_day date, alerts jsonb, digest jsonb) returns boolean
  language plpgsql
  set enable_seqscan = off
as $$
declare
  at constant timestamptz := clock_timestamp();
  latest constant timestamptz := at + interval '1 hour';
  n record;
begin
  if not lock_progress(ws) then return false; end if;
  perform from alert_look as l where l.workspace_id = ws and l.looks = seen;
  if not found then return false; end if;
  for n in
    select f.* from jsonb_to_recordset(alerts) as f (
      id uuid, subject text, change text, key text, days integer, people integer, expected double precision)
  loop
    perform add_alert(ws, to_jsonb(n), at);
  end loop;
  if digest is not null then
    perform add_digest(ws, digest, at);
    update alert_look set digest_week = (digest ->> 'week')::date where workspace_id = ws;
  end if;
  update alert_look as l set looked_at = at, looks = l.looks + 1, texts = l.texts - seen_texts, due_at = null where l.workspace_id = ws;
  -- Texts that came during the look.
  update alert_look as l set due_at = latest where l.workspace_id = ws and l.texts > 0;
  delete from alert_count as c where c.workspace_id = ws and c.day < first_day;
  return true;
end $$;

-- A theme or tag that went meanwhile is not told.
create or replace function add_alert(ws uuid, n jsonb, at timestamptz) returns void
  language plpgsql as $$
declare
  of_subject constant text := n ->> 'subject';
  of_key constant text := n ->> 'key';
  place bigint;
begin
  if of_subject = 'theme' then
    perform from theme as t where t.workspace_id = ws and t.id = of_key::uuid;
    if not found then return; end if;
  elsif of_subject = 'tag' then
    perform from feedback_category as c where c.workspace_id = ws and c.id = of_key::uuid;
    if not found then return; end if;
  end if;
  place := reserve_positions(ws, 1) + 1;
  insert into alert (
    workspace_id, id, subject, change, theme_id, kind, tag_id, source, account_id, days, people, expected, created_at, change_position)
  select g.workspace_id, (n ->> 'id')::uuid, of_subject, n ->> 'change', (v.ids ->> 'theme')::uuid, v.ids ->> 'kind',
    (v.ids ->> 'tag')::uuid, v.ids ->> 'source', (v.ids ->> 'account')::uuid, (n ->> 'days')::integer, (n ->> 'people')::integer,
    (n ->> 'expected')::double precision, at, place
  from workspace_progress as g cross join (select jsonb_build_object(of_subject, of_key) as ids) as v where g.workspace_id = ws;
end $$;

create or replace function add_digest(ws uuid, n jsonb, at timestamptz) returns void
  language plpgsql as $$
declare
  place bigint := reserve_positions(ws, 1) + 1;
begin
  insert into digest (workspace_id, id, week, changes, created_at, change_position)
  select g.workspace_id, (n ->> 'id')::uuid, (n ->> 'week')::timestamp at time zone 'utc', n -> 'changes', at, place
  from workspace_progress as g where g.workspace_id = ws
  on conflict (workspace_id, id) do nothing;
end $$;

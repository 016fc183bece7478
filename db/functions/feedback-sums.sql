-- Sums of feedback, so that a count of everything reads few rows (db/reads/sums.ts). The sums of a
-- workspace have its feedback up to `summed_position`, but none that is hidden. A count adds the
-- feedback after this position, which is little. So new feedback costs a save nothing: `sum_step` adds
-- thousands at once. A function that changes or removes feedback first takes it off the sums, and
-- gives the feedback that stays a new change position.
--
-- Satisfaction follows from the scale of the source, which can change. The sums have it by the summed
-- scale of the source (summed_low, summed_high). While this is another scale, no count uses the sums,
-- and `sum_step` sums the feedback of the source again. A null summed_position says that the sums are
-- being removed; then they start again.

-- How much feedback a step adds. More costs less for each, since tags and accounts recur, but a step
-- holds the lock of the workspace.
create or replace function summed_at_once() returns integer
  language sql immutable parallel safe as 'select 4000';

-- Microseconds after a change until a step adds the feedback: tags and corrections often follow soon.
create or replace function sum_delay() returns bigint
  language sql immutable parallel safe as 'select 10000000';

-- Adds the feedback with these change positions to the sums (sign 1), or takes it off (sign -1). The
-- rows of near positions are near in the table, those of near ids are not. A sum of no feedback goes, so
-- the sums keep no trace of purged records. Satisfaction is summed as a decimal number:
-- floating-point numbers would not come back to the former sum. The sums come from variables, since
-- Citus would run an insert from a query with groups elsewhere.
create or replace function sum_feedback(ws uuid, positions bigint[], sign integer) returns void
  language plpgsql
  set enable_seqscan = off
  set enable_bitmapscan = off
  set enable_hashjoin = off
  set enable_mergejoin = off
  set enable_sort = off
  set plan_cache_mode = force_generic_plan
as $$
declare
  dimensions text[]; keys uuid[]; tags text[]; periods date[]; sources text[]; ratings double precision[];
  counts integer[]; rated_counts integer[]; bad_counts integer[]; satisfactions numeric[];
begin
  with f as materialized (
    select r.source, r.rating, r.contact_id, r.account_id, r.account_id is null as is_alone, r.project_id,
      r.theme_id, r.kind, coalesce(nullif(r.tags, '{}'), array[null]) as tags, (r.created_at at time zone 'utc')::date as day,
      greatest(date_trunc('week', r.created_at at time zone 'utc'), date_trunc('month', r.created_at at time zone 'utc'))::date as part,
      (case when r.rating between s.summed_low and s.summed_high
        then (r.rating - s.summed_low) / (s.summed_high - s.summed_low) end)::numeric as satisfaction
    from unnest(positions) as p (at) cross join lateral (
      select k.source, k.rating, k.contact_id, k.account_id, k.project_id, k.theme_id, k.kind, k.tags, k.created_at from feedback as k
      where k.workspace_id = ws and k.change_position = p.at and not k.is_hidden offset 0
    ) as r
    left join lateral (select k.* from source as k where k.workspace_id = ws and k.source = r.source offset 0) as s on true
  )
  select array_agg(c.dimension), array_agg(coalesce(c.key, category_id(ws, c.tag), no_key())), array_agg(c.tag),
    array_agg(coalesce(c.period, '-infinity')), array_agg(coalesce(c.source, '')), array_agg(coalesce(c.rating, 'NaN')),
    array_agg(sign * c.feedback), array_agg(sign * c.rated), array_agg(sign * c.bad), array_agg(sign * c.satisfaction)
  into dimensions, keys, tags, periods, sources, ratings, counts, rated_counts, bad_counts, satisfactions
  from (
    select case
        when grouping(rating) = 0 then 'time'
        when grouping(account_id) = 0 then 'account'
        when grouping(contact_id) = 0 then case when is_alone then 'customer' else 'customer of account' end
        else case when grouping(project_id) = 0 then 'project' when grouping(theme_id) = 0 then 'theme' else 'kind' end
          || case when grouping(day) = 0 then ' and day' else '' end
      end as dimension, coalesce(project_id, account_id, contact_id, theme_id) as key, kind as tag, day as period, source,
      rating, count(*) as feedback, count(satisfaction) as rated, count(*) filter (where satisfaction <= 0.4) as bad,
      coalesce(sum(satisfaction), 0) as satisfaction
    from f
    group by grouping sets (
      (day, source, rating), (project_id, source), (project_id, day), (contact_id, is_alone, source), (account_id, source),
      (theme_id, source), (theme_id, day), (kind, source), (kind, day))
    having grouping(account_id) = 1 or account_id is not null
    union all
    select case when grouping(part) = 0 then 'tag and week' else 'tag' end, null, tag, part, source, null, count(*),
      count(satisfaction), count(*) filter (where satisfaction <= 0.4), coalesce(sum(satisfaction), 0)
    from f cross join lateral unnest(f.tags) as t (tag)
    group by grouping sets ((tag, source), (tag, part))
  ) as c;
  insert into feedback_sum as s (workspace_id, dimension, key, tag, period, source, rating, feedback, rated, bad, satisfaction)
  select g.workspace_id, c.dimension, c.key, c.tag, c.period, c.source, c.rating, c.feedback, c.rated, c.bad, c.satisfaction
  from workspace_progress as g
  cross join unnest(dimensions, keys, tags, periods, sources, ratings, counts, rated_counts, bad_counts, satisfactions)
    as c (dimension, key, tag, period, source, rating, feedback, rated, bad, satisfaction) where g.workspace_id = ws
  on conflict (workspace_id, dimension, key, period, source, rating) do update set feedback = s.feedback + excluded.feedback,
    rated = s.rated + excluded.rated, bad = s.bad + excluded.bad, satisfaction = s.satisfaction + excluded.satisfaction;
  if sign < 0 then perform remove_empty_sums(ws, dimensions, keys, periods, sources, ratings); end if;
end $$;

-- Removes the sums of no feedback among these, one by one.
create or replace function remove_empty_sums(
  ws uuid, dimensions text[], keys uuid[], periods date[], sources text[], ratings double precision[]) returns void
  language plpgsql
  set enable_seqscan = off
  set plan_cache_mode = force_generic_plan
as $$
declare
  c record;
begin
  for c in
    select e.dimension, e.key, e.period, e.source, e.rating
    from unnest(dimensions, keys, periods, sources, ratings) as e (dimension, key, period, source, rating)
    cross join lateral (
      select k.feedback from feedback_sum as k
      where k.workspace_id = ws and k.dimension = e.dimension and k.key = e.key and k.period = e.period
        and k.source = e.source and k.rating = e.rating offset 0
    ) as s
    where s.feedback = 0
  loop
    delete from feedback_sum as s
    where s.workspace_id = ws and s.dimension = c.dimension and s.key = c.key and s.period = c.period
      and s.source = c.source and s.rating = c.rating;
  end loop;
end $$;

-- The key of feedback without a project, a customer, a theme, a kind or tags.
create or replace function no_key() returns uuid
  language sql immutable parallel safe as $$ select '00000000-0000-0000-0000-000000000000'::uuid $$;

-- Takes feedback off the sums that is about to change or to go. The caller holds the lock.
create or replace function take_off_sums(ws uuid, ids uuid[]) returns void
  language plpgsql
  set enable_seqscan = off
  set enable_bitmapscan = off
  set plan_cache_mode = force_generic_plan
as $$
declare
  up_to bigint := (select g.summed_position from workspace_progress as g where g.workspace_id = ws);
  summed bigint[];
begin
  if up_to is null or up_to = 0 then return; end if;
  summed := array(
    select distinct f.change_position from unnest(ids) as i (id) cross join lateral (
      select k.change_position from feedback as k where k.workspace_id = ws and k.id = i.id offset 0
    ) as f
    where f.change_position <= up_to);
  if cardinality(summed) > 0 then perform sum_feedback(ws, summed, -1); end if;
end $$;

-- Brings the sums of a workspace closer to its feedback. Returns whether there is more to do at once.
-- Without sorts, its plans read feedback in the order of the index of change positions.
create or replace function sum_step(ws uuid) returns boolean
  language plpgsql
  set enable_seqscan = off
  set enable_bitmapscan = off
  set enable_sort = off
  set plan_cache_mode = force_generic_plan
as $$
declare
  settled bigint := microseconds_now() - sum_delay();
  former bigint;
  up_to bigint;
  changed text;
  positions bigint[];
  rest integer;
begin
  if not lock_progress(ws) then return false; end if;
  former := (select g.summed_position from workspace_progress as g where g.workspace_id = ws);
  if former is null then return remove_sums(ws); end if;
  changed := (
    select s.source from source as s
    where s.workspace_id = ws and (s.summed_low is distinct from s.scale_low or s.summed_high is distinct from s.scale_high) limit 1);
  if changed is not null then return sum_again(ws, changed, former); end if;
  select coalesce(array_agg(n.change_position), '{}'), coalesce(max(n.change_position), former) into positions, up_to
  from (
    select f.change_position from feedback as f
    where f.workspace_id = ws and f.change_position > former and f.change_position <= settled
    order by f.change_position limit summed_at_once()
  ) as n;
  if cardinality(positions) > 0 then perform sum_feedback(ws, positions, 1); end if;
  select count(*) into rest
  from (
    select f.change_position from feedback as f where f.workspace_id = ws and f.change_position > up_to
    order by f.change_position limit summed_at_once()
  ) as n;
  update workspace_progress set summed_position = up_to, unsummed = rest where workspace_id = ws;
  return cardinality(positions) = summed_at_once();
end $$;

-- Sums the feedback of a source by its changed scale: at once if it is little, else with all sums.
create or replace function sum_again(ws uuid, changed text, up_to bigint) returns boolean
  language plpgsql as $$
declare
  positions bigint[] := array(
    select f.change_position from feedback as f where f.workspace_id = ws and f.source = changed and f.change_position <= up_to
    order by f.created_at, f.id limit summed_at_once());
begin
  if cardinality(positions) = summed_at_once() then
    update workspace_progress set summed_position = null where workspace_id = ws;
    return true;
  end if;
  perform sum_feedback(ws, positions, -1);
  update source set summed_low = scale_low, summed_high = scale_high where workspace_id = ws and source = changed;
  perform sum_feedback(ws, positions, 1);
  return true;
end $$;

-- Removes the next sums of a workspace. After the last one, the sums start again with the present
-- scales.
create or replace function remove_sums(ws uuid) returns boolean
  language plpgsql as $$
begin
  if delete_rows(ws, 'feedback_sum', summed_at_once()) = summed_at_once() then return true; end if;
  update source set summed_low = scale_low, summed_high = scale_high where workspace_id = ws;
  update workspace_progress set summed_position = 0 where workspace_id = ws;
  return true;
end $$;

-- Alerts and digests: their end, and the names in them.

-- Removes the alerts and counts of themes or tags that go.
create or replace function end_alerts(ws uuid, of_subject text, ids uuid[]) returns void
  language plpgsql
  set enable_seqscan = off
  set enable_bitmapscan = off
as $$
declare
  ended uuid[];
begin
  if of_subject = 'theme' then
    ended := array(select a.id from alert as a where a.workspace_id = ws and a.theme_id = any (ids));
  else
    ended := array(select a.id from alert as a where a.workspace_id = ws and a.tag_id = any (ids));
  end if;
  delete from alert_count as c where c.workspace_id = ws and c.subject = of_subject and c.key = any (ids::text[]);
  if cardinality(ended) = 0 then return; end if;
  delete from alert as a where a.workspace_id = ws and a.id = any (ended);
  perform add_tombstones(ws, 'alert', ended);
end $$;

-- The name of a theme, tag or account, as JSON text; null for kinds and sources, and without one.
create or replace function alert_name(ws uuid, of_subject text, of_key uuid) returns text
  language plpgsql stable as $$
begin
  return case of_subject
    when 'theme' then (
      select to_json(h.name)::text from theme as t join theme as h on h.workspace_id = t.workspace_id and h.id = t.shown_id
      where t.workspace_id = ws and t.id = of_key)
    when 'tag' then (select to_json(c.title)::text from feedback_category as c where c.workspace_id = ws and c.id = of_key)
    when 'account' then (
      select to_json(coalesce(a.name, a.domain))::text from account as a
      where a.workspace_id = ws and a.id = of_key)
  end;
end $$;

create or replace function name_of_alert(ws uuid, alert_id uuid) returns text
  language plpgsql stable
  set enable_seqscan = off
as $$
declare
  a alert;
begin
  select * into a from alert as k where k.workspace_id = ws and k.id = alert_id;
  return alert_name(ws, a.subject, coalesce(a.theme_id, a.tag_id, current_id(ws, 'account', a.account_id)));
end $$;

create or replace function alerts_of_digest(ws uuid, digest_id uuid) returns text
  language plpgsql stable
  set enable_seqscan = off
as $$
declare
  begins timestamptz := (select d.week from digest as d where d.workspace_id = ws and d.id = digest_id);
  ids uuid[];
  listed text := '';
begin
  if begins is null then return null; end if;
  ids := array(
    select a.id from alert as a
    where a.workspace_id = ws and a.created_at >= begins and a.created_at < begins + interval '7 days'
    order by a.created_at, a.id limit 100);
  for at in 1 .. cardinality(ids) loop
    listed := concat_ws(',', nullif(listed, ''), alert_json(ws, ids[at]));
  end loop;
  return '[' || listed || ']';
end $$;

-- Themes that have gone, or that a person has hidden or merged, are left out.
create or replace function changes_of_digest(ws uuid, digest_id uuid) returns text
  language plpgsql stable
  set enable_seqscan = off
as $$
declare
  stored jsonb := (select d.changes from digest as d where d.workspace_id = ws and d.id = digest_id);
  c record;
  is_shown boolean;
  listed text := '';
begin
  if stored is null then return null; end if;
  for c in select e.subject, e.key, e.people, e.before from jsonb_to_recordset(stored) as e (subject text, key text, people integer, before numeric) loop
    is_shown := true;
    if c.subject = 'theme' then
      is_shown := exists (
        select from theme as t where t.workspace_id = ws and t.id = c.key::uuid and t.shown_id = t.id and not t.is_hidden);
    end if;
    continue when not is_shown;
    listed := concat_ws(',', nullif(listed, ''), concat('{', concat_ws(',',
      '"subject":' || to_json(c.subject),
      case c.subject when 'theme' then '"themeId":' || to_json(c.key) else '"kind":' || to_json(c.key) end,
      case when c.subject = 'theme' then '"name":' || alert_name(ws, c.subject, c.key::uuid) end,
      '"people":' || c.people, '"before":' || c.before), '}'));
  end loop;
  return '[' || listed || ']';
end $$;

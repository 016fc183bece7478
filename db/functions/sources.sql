-- Replaces the settings of a source. True: nothing is replaced, since the workspace would have more
-- than `most` names of fields. Null: the workspace is deleted.
create or replace function set_source(ws uuid, of_source text, is_given boolean, low double precision, high double precision,
  of_link text, of_fields jsonb, most integer)
returns boolean
  language plpgsql
  set enable_seqscan = off
as $$
declare
  others text[];
  names text[] := array(select e.name from jsonb_to_recordset(of_fields) as e (name text));
begin
  if not lock_progress(ws) then return null; end if;
  others := array(
    select e.name from source as s cross join jsonb_to_recordset(s.fields) as e (name text)
    where s.workspace_id = ws and s.fields is not null and s.source <> of_source);
  if most < (select count(distinct n.name) from unnest(others || names) as n (name)) then return true; end if;
  insert into source as s (workspace_id, source, is_scale_given, given_low, given_high, link, fields)
  values (ws, of_source, is_given, low, high, of_link, of_fields)
  on conflict (workspace_id, source) do update set is_scale_given = excluded.is_scale_given,
    given_low = excluded.given_low, given_high = excluded.given_high, link = excluded.link, fields = excluded.fields;
  return false;
end $$;

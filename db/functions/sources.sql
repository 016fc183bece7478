-- Replaces the settings of a source. is_full: nothing is replaced, since the workspace would have more
-- than `most` names of fields. Returns no row if the workspace is deleted.
create or replace function set_source(ws uuid, of_source text, is_given boolean, low double precision, high double precision,
  of_link text, of_fields jsonb, most integer)
returns table (is_full boolean, stored source)
  language plpgsql
  set enable_seqscan = off
as $$
begin
  if not lock_progress(ws) then return; end if;
  is_full := most < (
    select count(distinct e.name) from (
      select s.fields from source as s where s.workspace_id = ws and s.fields is not null and s.source <> of_source
      union all select of_fields
    ) as a cross join jsonb_to_recordset(a.fields) as e (name text));
  if not is_full then
    insert into source as s (workspace_id, source, is_scale_given, given_low, given_high, link, fields)
    values (ws, of_source, is_given, low, high, of_link, of_fields)
    on conflict (workspace_id, source) do update set is_scale_given = excluded.is_scale_given,
      given_low = excluded.given_low, given_high = excluded.given_high, link = excluded.link, fields = excluded.fields
    returning s.* into stored;
  end if;
  return next;
end $$;

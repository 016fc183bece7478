-- Replaces the settings of a source. Returns no row if the workspace is deleted.
create or replace function set_source(ws uuid, of_source text, is_given boolean, low double precision, high double precision, of_link text)
returns setof source
  language plpgsql
  set enable_seqscan = off
as $$
begin
  if not lock_progress(ws) then return; end if;
  return query
    insert into source as s (workspace_id, source, is_scale_given, given_low, given_high, link)
    values (ws, of_source, is_given, low, high, of_link)
    on conflict (workspace_id, source) do update set is_scale_given = excluded.is_scale_given,
      given_low = excluded.given_low, given_high = excluded.given_high, link = excluded.link
    returning s.*;
end $$;

/**
 * What embedded servers see of the environment. The rest would reach them as settings (PGDATA, LD_LIBRARY_PATH) or turn up
 * in their logs in another language.
 */
export const SERVER_ENVIRONMENT: Readonly<Record<string, string>> = {
  PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
  LC_ALL: 'C',
  TZ: 'UTC',
}

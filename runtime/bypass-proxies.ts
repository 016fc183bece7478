/** The addresses of this machine, in the forms that Bun and Deno know in NO_PROXY. */
const OWN_ADDRESSES = ['127.0.0.0/8', '::1', '0.0.0.0', 'localhost', '.localhost']
/** The runtimes read both variables. */
const NAMES = ['NO_PROXY', 'no_proxy']

/**
 * Excludes this machine and further hosts from the proxies of HTTP_PROXY and similar variables:
 * requests to them carry tokens and bodies, and a remote proxy cannot reach them. Call it before
 * the first request, since Deno reads the environment once.
 */
export const bypassProxies = (environment: Record<string, string | undefined>, ...hosts: readonly string[]): void => {
  for (const name of NAMES) {
    environment[name] = [environment[name], ...OWN_ADDRESSES, ...hosts].filter(Boolean).join(',')
  }
}

/** The addresses of this machine, in the forms that Bun and Deno know in NO_PROXY. */
const OWN_ADDRESSES = ['127.0.0.0/8', '::1', '0.0.0.0', 'localhost', '.localhost']
/** If both are set, Bun reads only no_proxy, and Deno only NO_PROXY. */
const NAMES = ['NO_PROXY', 'no_proxy']

/**
 * Lets requests to this machine and to `hosts` bypass the proxies of HTTP_PROXY and similar
 * variables. These requests carry tokens and bodies, and a remote proxy cannot reach the hosts.
 * Call this before the first request, since Deno reads the environment once.
 */
export const bypassProxies = (environment: Record<string, string | undefined>, ...hosts: readonly string[]): void => {
  const given = NAMES.map((name) => environment[name])
  const all = [...new Set([...given, ...OWN_ADDRESSES, ...hosts])].filter(Boolean).join(',')
  for (const name of NAMES) environment[name] = all
}

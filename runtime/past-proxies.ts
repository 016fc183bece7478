/** The addresses of this machine, in the forms that Bun and Deno know in NO_PROXY. */
const OWN_ADDRESSES = ['127.0.0.0/8', '::1', '0.0.0.0', 'localhost', '.localhost']
/** Either may be set, and the runtimes read both. */
const NAMES = ['NO_PROXY', 'no_proxy']

/**
 * Keeps requests to this machine, and to further hosts, out of the proxy of HTTP_PROXY and its kin:
 * they carry tokens and bodies, and a proxy elsewhere does not reach them. Call it before the first
 * request, since Deno reads the environment once.
 */
export const goPastProxies = (environment: Record<string, string | undefined>, ...hosts: readonly string[]): void => {
  for (const name of NAMES) {
    environment[name] = [environment[name], ...OWN_ADDRESSES, ...hosts].filter(Boolean).join(',')
  }
}

/**
 * Browsers go to the reference, and others are told where things are. Like all addresses in pages
 * it is relative: a proxy may have the service below a path of its own.
 */
export const startAnswer = (
  { headers }: Request,
  addresses: Readonly<Record<string, string>> & { reference: string },
): Response =>
  headers.get('accept')?.includes('text/html')
    ? new Response(null, { status: 302, headers: { Location: addresses.reference.slice(1), Vary: 'Accept' } })
    : Response.json(addresses, { headers: { Vary: 'Accept' } })

/**
 * GET /: sends browsers to the reference, and answers other clients with the addresses. The redirect is
 * relative, since a proxy may have the service below a path.
 */
export const answerStartPage = (
  { headers }: Request,
  addresses: Readonly<Record<string, string>> & { reference: string },
): Response =>
  headers.get('accept')?.includes('text/html')
    ? new Response(null, { status: 302, headers: { Location: addresses.reference.slice(1), Vary: 'Accept' } })
    : Response.json(addresses, { headers: { Vary: 'Accept' } })

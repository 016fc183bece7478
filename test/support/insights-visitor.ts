import assert from 'node:assert/strict'

export type Answer = { status: number; text: string; headers: Headers }

/** A person at /insights, without scripts: keeps the cookie, follows links and sends forms. */
export type Visitor = {
  get: (path: string) => Promise<Answer>
  /** Sends a form with the token of the page's forms. */
  send: (path: string, fields: Record<string, string | string[]>, headers?: Record<string, string>) => Promise<Answer>
  readonly cookie: string
}

export const FROM_PAGE = { 'Sec-Fetch-Site': 'same-origin' }

export const post = (
  url: string,
  fields: Record<string, string | string[]>,
  headers: Record<string, string>,
): Promise<Response> => {
  const body = new URLSearchParams()
  for (const [name, value] of Object.entries(fields)) for (const each of [value].flat()) body.append(name, each)
  return fetch(url, { method: 'POST', body, headers, redirect: 'manual' })
}

export const signIn = async (base: string, token: string): Promise<Visitor> => {
  const answer = await post(`${base}/insights/session`, { act: 'begin', token }, FROM_PAGE)
  assert.equal(answer.status, 303, await answer.text())
  const cookie = answer.headers.get('set-cookie')!.split(';')[0]!
  const get = async (path: string): Promise<Answer> => {
    const found = await fetch(`${base}/insights${path}`, { headers: { cookie } })
    return { status: found.status, text: await found.text(), headers: found.headers }
  }
  return {
    cookie,
    get,
    send: async (path, fields, headers = FROM_PAGE) => {
      const formToken = /name="formToken" value="([^"]+)"/.exec((await get('/find')).text)![1]!
      const sent = await post(`${base}/insights${path}`, { formToken, ...fields }, { cookie, ...headers })
      return { status: sent.status, text: await sent.text(), headers: sent.headers }
    },
  }
}

/** The text of HTML, without its elements. */
export const textOf = (page: string): string =>
  page
    .replaceAll(/<style>[^]*<\/style>/g, '')
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll('&amp;', '&')
    .replaceAll(/\s+/g, ' ')

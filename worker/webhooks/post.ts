import { Agent as PlainAgent, request as requestPlain } from 'node:http'
import { Agent as SecureAgent, request as requestSecure } from 'node:https'
import { publicLookup, refuseAddress } from '../../runtime/public-address.ts'

const ANSWER_WITHIN_MS = 15_000

type PostRequest = {
  text: string
  headers: Readonly<Record<string, string>>
  allowedHosts: readonly string[]
  stop: AbortSignal
}

/** `retryAfter`: the header, if there is one. */
type PostAnswer = { status: number; retryAfter: string | undefined }

/**
 * Posts a text to an address of the public internet, or to an allowed host, and reads the head of
 * the answer. It uses no proxy and follows no redirect.
 *
 * @throws with the code of the failure
 */
export const post = (url: URL, { text, headers, allowedHosts, stop }: PostRequest): Promise<PostAnswer> =>
  new Promise((resolve, reject) => {
    const refused = refuseAddress(url.hostname, allowedHosts)
    if (refused) return reject(refused)
    const bytes = new TextEncoder().encode(text)
    const isSecure = url.protocol === 'https:'
    const send = isSecure ? requestSecure : requestPlain
    const Agent = isSecure ? SecureAgent : PlainAgent
    const request = send(
      url,
      {
        method: 'POST',
        headers: { ...headers, 'Content-Length': bytes.byteLength },
        lookup: publicLookup(allowedHosts),
        // With NODE_USE_ENV_PROXY, Deno would use a proxy, which resolves hosts past `publicLookup`.
        agent: new Agent({ proxyEnv: {} }),
        signal: stop,
      },
      (response) => {
        clearTimeout(late)
        resolve({ status: response.statusCode ?? 0, retryAfter: response.headers['retry-after'] })
        response.destroy()
      },
    )
    const late = setTimeout(
      () =>
        request.destroy(
          Object.assign(new Error(`The receiver did not answer within ${ANSWER_WITHIN_MS} ms.`), { code: 'NO_ANSWER' }),
        ),
      ANSWER_WITHIN_MS,
    )
    request.on('error', (error) => {
      clearTimeout(late)
      reject(error)
    })
    request.end(bytes)
  })

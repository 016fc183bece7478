import { readFileSync } from 'node:fs'
import type { Html } from '../../insights/html.ts'
import { framed, signInPage } from '../../insights/layout.ts'
import { changedPage, pageAt, problemPage } from '../../insights/pages.ts'
import { HEAVY, type InsightReads } from '../../insights/reads.ts'
import { type InsightPage, queryText, type Site } from '../../insights/site.ts'
import { type ViewQuery, readView } from '../../insights/view.ts'
import { callerOf, type Credential } from '../authenticate.ts'
import type { Arrival } from '../http/arrival.ts'
import { receiveForm } from '../http/read-body.ts'
import { isRefusal, type Refusal, refusalAnswer } from '../http/refusal.ts'
import { pageFile } from '../page-files.ts'
import { type ReadContext, refusalOfFault, withPermit } from '../reads/reads.ts'
import type { SourceDependencies } from '../reads/sources.ts'
import { makeChange } from './changes.ts'
import { beginSession, cookieOf, formTokenOf, isFormToken, isSameOrigin, type Session, sessionOf } from './session.ts'

export const INSIGHTS_PATH = '/insights'

export type InsightDependencies = SourceDependencies & {
  /** The reads of a workspace. Each rejects if the database does not answer in time. */
  insightReads: (workspaceId: string) => InsightReads
}

/** Scripts never run on these pages, and their forms lead only here. */
const HEADERS = {
  'Content-Type': 'text/html; charset=utf-8',
  'Content-Security-Policy':
    "default-src 'none'; style-src 'self'; img-src data:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
  // Without its own origin, a browser would send forms with the origin `null`.
  'Referrer-Policy': 'same-origin',
}
const STYLE = readFileSync(new URL('../../insights/insights.css', import.meta.url), 'utf8')
const MOST_FORM_BYTES = 256 * 1024

/** A request for the page: its path below INSIGHTS_PATH, and the way from there to the top. */
type Visit = { request: Request; path: string; parameters: URLSearchParams; root: string }
type Visitor = { session: Session; workspaceId: string; site: Site; reads: InsightReads; query: ViewQuery }

/** Answers people who read: pages, sign-in, and forms. */
export const answerInsights = async (dependencies: InsightDependencies, { request }: Arrival): Promise<Response> => {
  const { pathname, searchParams } = new URL(request.url)
  const path = pathname.slice(INSIGHTS_PATH.length).replace(/\/$/, '')
  const visit = { request, path, parameters: searchParams, root: '../'.repeat(pathname.split('/').length - 2) }
  if (path === '/style.css') return pageFile('insights.css', STYLE, { 'Cache-Control': 'no-cache' })
  switch (request.method) {
    case 'GET':
    case 'HEAD':
      return show(dependencies, visit)
    case 'POST':
      return isSameOrigin(request)
        ? receive(dependencies, visit)
        : refuse(visit, { status: 403, problem: FOREIGN_FORM })
    default:
      return refuse(visit, {
        status: 405,
        problem: 'This page takes GET and POST only.',
        headers: { Allow: 'GET, POST' },
      })
  }
}

const FOREIGN_FORM = 'The form was not sent from this site. Open the page again, and send it from there.'

const answer = (page: Html, status = 200, headers: Record<string, string> = {}): Response =>
  new Response(page.html, { status, headers: { ...HEADERS, ...headers } })

type Refused = { status: number; problem: string; headers?: Record<string, string> }

const refuse = ({ root }: Visit, { status, problem, headers = {} }: Refused): Response =>
  answer(signInPage({ root, problem }), status, headers)

const errorText = ({ error }: ReturnType<typeof refusalAnswer>['body']): string =>
  typeof error === 'string' ? error : error.map(({ message }) => message).join(' ')

const redirect = ({ root }: Visit, to: string, cookie: string): Response =>
  new Response(null, { status: 303, headers: { ...HEADERS, Location: `${root}insights${to}`, 'Set-Cookie': cookie } })

/** GET: a page, or the form to sign in, which then leads to the page. */
const show = async (dependencies: InsightDependencies, visit: Visit): Promise<Response> => {
  const visitor = await visitorOf(dependencies, visit)
  if (isRefusal(visitor)) return refuseVisitor(dependencies, visit, visitor)
  const showPage = pageAt(visit.path)
  if (showPage === undefined)
    return showProblem(visit, visitor, { status: 404, problems: ['There is nothing at this address.'] })
  const view = readView(visit.parameters)
  if ('problems' in view) return showProblem(visit, visitor, { status: 400, problems: view.problems })
  return guarded({ dependencies, visit, visitor }, async () => {
    const page = await showPage({ site: visitor.site, view, reads: visitor.reads })
    return 'problems' in page ? showProblem(visit, visitor, page) : showPageOf(visit, visitor, page)
  })
}

const showPageOf = (
  { path }: Visit,
  { site, query }: Visitor,
  { status = 200, ...page }: InsightPage & { status?: number },
): Response => answer(framed(site, { ...page, path, query }), status)

const showProblem = (
  visit: Visit,
  visitor: Visitor,
  { status, problems }: { status: number; problems: readonly string[] },
): Response => showPageOf(visit, visitor, { ...problemPage(visitor.site, problems), status })

/** Who visits: the session's token has to be valid now. */
const visitorOf = async (dependencies: InsightDependencies, visit: Visit): Promise<Visitor | Refusal> => {
  const { intake, reads } = dependencies
  const session = sessionOf(intake.hashKey, visit.request, Date.now())
  if (session === undefined) return { refused: 'unauthenticated' }
  const caller = await callerOf(intake.authenticate, { token: session, span: undefined }, 'read')
  if (isRefusal(caller)) return caller
  const { workspaceId, scopes } = caller
  const own = permitted(
    { workspaceId, request: visit.request, dependencies: reads },
    dependencies.insightReads(workspaceId),
  )
  const administer = scopes.includes('admin')
  const site: Site = {
    workspace: (await own.workspaceName().catch(() => undefined)) ?? '',
    now: new Date(),
    address: (path, query = {}) => `${visit.root}insights${path}${queryText(query)}`,
    may: { edit: administer || scopes.includes('edit'), administer },
    formToken: formTokenOf(intake.hashKey, session),
  }
  return { session, workspaceId, site, reads: own, query: Object.fromEntries(visit.parameters) }
}

/** Without a session, the form to sign in; a token that is no good any more ends the session. */
const refuseVisitor = ({ intake }: InsightDependencies, visit: Visit, refusal: Refusal): Response => {
  const { request, path, parameters, root } = visit
  if (refusal.refused !== 'unauthenticated' && refusal.refused !== 'forbidden') {
    const { status, body } = refusalAnswer(refusal)
    return refuse(visit, { status, problem: errorText(body) })
  }
  const isEnded = sessionOf(intake.hashKey, request, Date.now()) !== undefined
  const to = `${path}${parameters.size === 0 ? '' : `?${parameters}`}`
  const problem = isEnded ? 'Your token is not valid for this page any more. Sign in again.' : undefined
  return answer(signInPage({ root, problem, to }), 401, isEnded ? { 'Set-Cookie': cookieOf(request, undefined) } : {})
}

/** A read that was refused, for `guarded`. Pages compose many reads, so a refusal ends them at once. */
class RefusedRead extends Error {
  readonly refusal: Refusal
  constructor(refusal: Refusal) {
    super('A read was refused.')
    this.refusal = refusal
  }
}

/** The reads of a workspace, each with a permit as those of programs have. */
const permitted = (context: ReadContext, reads: InsightReads): InsightReads =>
  Object.fromEntries(
    Object.entries(reads).map(([name, read]) => [
      name,
      async (...asked: unknown[]) => {
        const work = async () => ({ found: await (read as (...given: unknown[]) => Promise<unknown>)(...asked) })
        const done = await withPermit(context, work, HEAVY.has(name) ? 'countPermits' : 'permits')
        if (isRefusal(done)) throw new RefusedRead(done)
        return done.found
      },
    ]),
  ) as InsightReads

type Guarded = { dependencies: InsightDependencies; visit: Visit; visitor: Visitor }

const guarded = async (
  { dependencies: { reads }, visit, visitor }: Guarded,
  work: () => Promise<Response>,
): Promise<Response> => {
  try {
    return await work()
  } catch (error) {
    const context = { workspaceId: visitor.workspaceId, request: visit.request, dependencies: reads }
    const refusal = error instanceof RefusedRead ? error.refusal : refusalOfFault(context, error)
    const { status, body } = refusalAnswer(refusal)
    return showProblem(visit, visitor, { status, problems: [errorText(body)] })
  }
}

/** POST: the forms to sign in and out, and the forms of changes. */
const receive = async (dependencies: InsightDependencies, visit: Visit): Promise<Response> => {
  const { hashKey } = dependencies.intake
  const fields = await receiveForm(visit.request, MOST_FORM_BYTES)
  if (isRefusal(fields))
    return refuse(visit, {
      status: refusalAnswer(fields).status,
      problem: 'The form could not be read. Send it again.',
    })
  const isBegin = visit.path === '/session' && fields.get('act') === 'begin'
  if (isBegin) return signIn(dependencies, visit, fields)
  const visitor = await visitorOf(dependencies, visit)
  if (isRefusal(visitor)) return refuseVisitor(dependencies, { ...visit, path: '' }, visitor)
  if (!isFormToken(hashKey, visitor.session, fields.get('formToken') ?? ''))
    return refuse(visit, { status: 403, problem: FOREIGN_FORM })
  if (visit.path === '/session') return redirect(visit, '', cookieOf(visit.request, undefined))
  return guarded({ dependencies, visit, visitor }, async () => {
    const token: Credential = { hash: visitor.session.hash }
    const sent = { request: visit.request, token, path: visit.path, fields }
    const changed = (await makeChange({ ...dependencies, own: visitor.reads }, sent)) ?? {
      status: 404,
      problems: ['There is no such form.'],
    }
    if ('problems' in changed) return showProblem(visit, visitor, changed)
    return showPageOf(visit, visitor, changedPage(visitor.site, changed))
  })
}

/** Where a sign-in may lead: an address of these pages. */
const INSIDE = /^(?:(?:\/[\w-]+){0,2}(?:\?[^\s\\]*)?)$/

const signIn = async ({ intake }: InsightDependencies, visit: Visit, fields: URLSearchParams): Promise<Response> => {
  const token = (fields.get('token') ?? '').trim()
  const to = fields.get('to') ?? ''
  const caller = await callerOf(intake.authenticate, { token, span: undefined }, 'read')
  if (isRefusal(caller)) {
    const { status, body } = refusalAnswer(caller)
    const problem = caller.refused === 'unauthenticated' ? 'This token is not valid.' : errorText(body)
    return answer(signInPage({ root: visit.root, problem, to }), status)
  }
  const session = beginSession(intake.hashKey, token, Date.now())
  return redirect(visit, INSIDE.test(to) ? to : '', cookieOf(visit.request, session))
}

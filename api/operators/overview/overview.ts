import { fileURLToPath } from 'node:url'
import { readPageFile } from '../../page-files.ts'
import { refusalResponse } from '../../http/refusal.ts'
import type { Handler } from '../../serve.ts'
import type { Finding, Evidence } from '../../../health/finding.ts'
import { judge } from '../../../health/findings.ts'
import { SAMPLE_EVERY_SECONDS } from './history.ts'
import type { Point } from '../../../health/point.ts'

/** The answer of `/admin/overview.json`. */
export type Overview = {
  verdict: 'well' | 'attention' | 'trouble' | 'unknown'
  findings: Finding[]
  /** Seconds from one point to the next. */
  everySeconds: number
  /** The points after the time in `?since=`, oldest first. */
  points: Omit<Point, 'queues' | 'unserved' | 'heaviest' | 'crowding' | 'missing'>[]
  /** The queues at the latest point. */
  queues: Point['queues']
  /** The heaviest workspaces at the latest point. */
  workspaces: Point['heaviest']
}

const FILES: Readonly<Record<string, string>> = {
  '': 'page.html',
  '/overview.js': 'overview.js',
  '/overview.css': 'overview.css',
}

/**
 * Answers with the page of the overview, its script, its style or its figures. The caller checks
 * the permission.
 */
export const createOverview =
  (basePath: string, readEvidence: () => Evidence): Handler =>
  async (request) => {
    const { pathname, searchParams } = new URL(request.url)
    const path = pathname.slice(basePath.length)
    if (path === '/overview.json') {
      const since = Number(searchParams.get('since') ?? 0)
      return Response.json(overviewOf(readEvidence(), since))
    }
    // The links of the page are relative to its address without a trailing slash.
    if (path === '/') return new Response(null, { status: 302, headers: { Location: `..${basePath}` } })
    const file = Object.hasOwn(FILES, path) ? FILES[path] : undefined
    if (file === undefined) return refusalResponse({ refused: 'not-found' })
    return readPageFile(fileURLToPath(new URL(file, import.meta.url)))
  }

/** A rate needs two points. */
const POINTS_TO_JUDGE = 2

const overviewOf = (evidence: Evidence, since: number): Overview => {
  const found = judge(evidence)
  const latest = evidence.points.at(-1)
  const isKnown = evidence.points.length >= POINTS_TO_JUDGE
  return {
    verdict: found[0]?.level ?? (isKnown ? 'well' : 'unknown'),
    findings: found,
    everySeconds: SAMPLE_EVERY_SECONDS,
    // A `since` that is no number gives all points: every comparison with NaN is false.
    points: evidence.points
      .filter(({ at }) => !(at <= since))
      .map(
        ({
          queues: _queues,
          unserved: _unserved,
          heaviest: _heaviest,
          crowding: _crowding,
          missing: _missing,
          ...point
        }) => point,
      ),
    queues: latest?.queues ?? null,
    workspaces: latest?.heaviest ?? null,
  }
}

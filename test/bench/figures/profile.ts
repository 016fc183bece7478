import { readFileSync } from 'node:fs'

/** What Bun writes with `--cpu-prof`, in the form of Chrome's tools; times are microseconds since 1970. */
type Profile = {
  readonly nodes: readonly {
    id: number
    callFrame: { functionName: string; url: string }
    children?: readonly number[]
  }[]
  readonly startTime: number
  readonly samples: readonly number[]
  readonly timeDeltas: readonly number[]
}

/** What a frame says about the part of the work that it belongs to; `vague` ones only where no frame further out says more. */
export type Rule = { readonly part: string; readonly file?: RegExp; readonly native?: RegExp; readonly vague?: true }

const SAMPLED_EVERY_US = 1_000
const REST = 'other JavaScript'

/** Microseconds of JavaScript by part, between two moments. Each sample counts for the innermost frame that a rule knows. */
export const readParts = (
  file: string,
  { rules, fromMs, toMs }: { rules: readonly Rule[]; fromMs: number; toMs: number },
): Map<string, number> => {
  const { nodes, startTime, samples, timeDeltas } = JSON.parse(readFileSync(file, 'utf8')) as Profile
  const byId = new Map(nodes.map((node) => [node.id, node]))
  const parentOf = new Map(nodes.flatMap(({ id, children = [] }) => children.map((child) => [child, id])))
  const partOf = (leaf: number): string => {
    let vague: string | undefined
    for (let id: number | undefined = leaf; id !== undefined; id = parentOf.get(id)) {
      const rule = ruleFor(byId.get(id)!.callFrame, rules)
      if (rule && !rule.vague) return rule.part
      vague ??= rule?.part
    }
    return vague ?? REST
  }
  const parts = new Map<string, number>()
  let at = startTime
  for (const [place, leaf] of samples.entries()) {
    at += timeDeltas[place]!
    if (at < fromMs * 1_000 || at > toMs * 1_000) continue
    const part = partOf(leaf)
    parts.set(part, (parts.get(part) ?? 0) + SAMPLED_EVERY_US)
  }
  return parts
}

const ruleFor = ({ functionName, url }: { functionName: string; url: string }, rules: readonly Rule[]) =>
  rules.find(({ file, native }) => (url === '' ? native?.test(functionName) : file?.test(url)))

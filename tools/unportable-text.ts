import type { TextFile } from './source-files.ts'

const UNPORTABLE: Readonly<Record<string, RegExp>> = {
  // A path that exists only on one machine, but no part of a longer path such as `/admin/work/`.
  'a path of one machine': /(?<![\w.:/}~-])\/(?:work|root|(?:home|Users|tmp)\/[\w.-]+)\/[\w.-]*/,
  // Each machine configures its registry for packages, and an address here would bypass it.
  'the address of a registry':
    /\bregistry\.[a-z0-9-]+\.[a-z]{2,}|\b(?:npm\.pkg\.github|deb\.debian|security\.debian)\.[a-z]+/i,
  'a download address in the lock': /"resolved": *"(?:https?|git)[+:]/,
}

/** One sentence for each kind of unportable text in a line. */
export const findUnportableText = (files: readonly TextFile[]): string[] => {
  return files.flatMap(({ path, text }) =>
    text.split('\n').flatMap((line, index) =>
      Object.entries(UNPORTABLE).flatMap(([what, pattern]) => {
        const found = pattern.exec(line)
        return found ? [`${path}:${index + 1} has ${what}: ${found[0]}`] : []
      }),
    ),
  )
}

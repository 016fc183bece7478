import process from 'node:process'

/** Ends the process with its usage when `--help` or `-h` is among its words. */
export const printHelp = (usage: string): void => {
  if (!process.argv.slice(2).some((word) => word === '--help' || word === '-h')) return
  process.stdout.write(`${usage}\n`)
  process.exit(0)
}

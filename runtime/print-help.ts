import process from 'node:process'

/** Prints the usage and ends the process if `--help` or `-h` is among its arguments. */
export const printHelp = (usage: string): void => {
  if (!process.argv.slice(2).some((word) => word === '--help' || word === '-h')) return
  process.stdout.write(`${usage}\n`)
  process.exit(0)
}

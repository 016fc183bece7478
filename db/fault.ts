/** SQLSTATE classes and codes by what they mean for whoever retries. */
const PERMANENT_CLASSES = ['22', '42']
const PERMANENT_CODES = ['23502', '23514', '54000']

const codeOf = (error: unknown): string | undefined => {
  const code: unknown = error instanceof Error && 'code' in error ? error.code : undefined
  return typeof code === 'string' ? code : undefined
}

/** True when trying again cannot help: the data or the statement is wrong, not the server. */
export const isPermanentFault = (error: unknown): boolean => {
  const code = codeOf(error)
  return (
    code !== undefined &&
    (PERMANENT_CODES.includes(code) || (code.length === 5 && PERMANENT_CLASSES.includes(code.slice(0, 2))))
  )
}

/** What may be logged or kept of a fault: its kind and code. A message can quote a customer's data. */
export const describeFault = (error: unknown): string => {
  const code = codeOf(error)
  const name = error instanceof Error ? error.name : typeof error
  return code === undefined ? name : `${name} ${code}`
}

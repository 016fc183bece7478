const FULL = /No space left on device|\bENOSPC\b|Disk quota exceeded|\bEDQUOT\b|\b53100\b/

/** One line in place of the output of a program that met a full disk. Undefined for other output. */
export const explainFullDisk = (text: string): string | undefined =>
  FULL.test(text)
    ? 'The disk of DATA_DIR is full. Free some space, or set DATA_DIR to a directory on another disk. Then start again.'
    : undefined

import type { Batch } from '../queue/batch.ts'
import type { BatchName, Books } from '../queue/books.ts'
import type { HandOver } from '../queue/hand-over.ts'

type Handing = { books: Books; handOver: HandOver }

/** Each submission of a batch gets a batch and a job of its own. */
export const handOverEach = async ({ books, handOver }: Handing, batch: Batch): Promise<void> => {
  const { workspaceId, queue, submissions } = batch
  if (submissions.length > 1) await books.split(batch)
  await Promise.all(
    submissions.map(({ submission: { operation, submissionId } }) => {
      const batchId = submissions.length > 1 ? submissionId : batch.batchId
      return handOver(queue, { workspaceId, batchId, operations: [operation], bytes: 0, apart: {} })
    }),
  )
}

/** The same for batches that are still there. */
export const handOverAll = async (handing: Handing, batches: readonly BatchName[]): Promise<'split'> => {
  for (const named of batches) {
    const batch = await handing.books.read(named)
    if (batch !== undefined) await handOverEach(handing, batch)
  }
  return 'split'
}

import { type Refusal, refusalAnswer } from '../http/refusal.ts'

const OUT_OF_TIME = 'The database did not answer in time. Ask for less: a shorter period, or one more filter.'
const NO_SUCH_RECORD =
  'There is no such record in this workspace. Take ids from answers, such as those of resolve, list_feedback or count_feedback.'

/** The text of a refusal for the agent: the fault, and the way out. */
export const refusalText = (refusal: Refusal): string => {
  if (refusal.refused === 'unavailable' && refusal.why === 'reads') return OUT_OF_TIME
  if (refusal.refused === 'no-such-record') return NO_SUCH_RECORD
  const { error } = refusalAnswer(refusal).body
  return typeof error === 'string' ? error : error.map(({ message }) => message).join('; ')
}

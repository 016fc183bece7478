import { type Refusal, refusalAnswer } from '../http/refusal.ts'

const OUT_OF_TIME = 'The database did not answer in time. Ask for less: a shorter period, or one more filter.'

/** The text of a refusal for the agent. */
export const refusalText = (refusal: Refusal): string => {
  if (refusal.refused === 'unavailable' && refusal.why === 'reads') return OUT_OF_TIME
  const { error } = refusalAnswer(refusal).body
  return typeof error === 'string' ? error : error.map(({ message }) => message).join('; ')
}

import type { Sql } from '../connection/postgres.ts'
import { type CountRequest, over, rowsToCount } from './counts.ts'
import { partsOf } from './dimensions.ts'
import { currentFilters } from './filters.ts'

/** Answers on scales of 0 to 10: 9 or more are promoters, 6 or less are detractors. */
export type Answers = { answers: number; promoters: number; detractors: number }
/** `keys`: of the group; undefined for all feedback together. */
type AnswerRow = Answers & { keys: (string | null)[] | null }
export type AnswersRequest = Pick<CountRequest, 'workspaceId' | 'by' | 'filters' | 'declared'>

/** The answers to the question of the Net Promoter Score, in total and by group. */
export const countAnswers = async (sql: Sql, request: AnswersRequest): Promise<AnswerRow[]> => {
  const { workspaceId, by, filters, declared } = request
  const asked = await currentFilters(sql, { workspaceId, filters })
  const keys = by.map((_, at) => `k${at + 1}`).join()
  const texts = by.map((name, at) => over(partsOf(name, declared).text, at)).join()
  return sql
    .unsafe<AnswerRow[]>(
      `with x as (${rowsToCount(request, ', r.rating as answer, s.scale_low, s.scale_high')}),
      a as (select * from x where scale_low = 0 and scale_high = 10 and answer between 0 and 10)
      select null::jsonb as keys, ${ANSWERS} from a where is_first
      union all
      select jsonb_build_array(${texts}), ${ANSWERS} from a group by ${keys}`,
      [workspaceId, sql.json(asked)],
    )
    .execute()
}

const ANSWERS = `count(*)::float8 as answers, count(*) filter (where answer >= 9)::float8 as promoters,
  count(*) filter (where answer <= 6)::float8 as detractors`

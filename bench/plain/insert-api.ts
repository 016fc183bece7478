import { readPlainConfig } from './config.ts'
import { connectPlain, insertFeedback } from './feedback-table.ts'
import { serveFeedback } from './serve-feedback.ts'

// The handler that inserts directly.
const config = readPlainConfig()
const sql = connectPlain(config)
serveFeedback(config.token, (id, feedback) => insertFeedback(sql, id, feedback))

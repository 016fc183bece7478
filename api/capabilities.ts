import type { ApiCapability } from './capability.ts'
import { openInsights } from './insights/open-insights.ts'
import { openMcp } from './mcp/open-mcp.ts'
import { openWebhooks } from './webhooks/open-webhooks.ts'
import { WEBHOOK_REFERENCE } from './webhooks/webhook-reference.ts'

/** To delete one, see CONTRIBUTING.md. */
export const CAPABILITIES: readonly ApiCapability[] = [
  { open: openMcp },
  { open: openInsights },
  { open: openWebhooks, reference: WEBHOOK_REFERENCE },
]

import { lookDue } from './alerts/look.ts'
import type { WorkerCapability } from './capability.ts'
import { findMeaning } from './meaning/find-meaning.ts'
import { createDeliveries, wakeWebhooks } from './webhooks/process-deliveries.ts'

/** To delete one, see CONTRIBUTING.md. */
export const CAPABILITIES: readonly WorkerCapability[] = [
  { tasks: [wakeWebhooks], createProcessors: createDeliveries },
  { tasks: [lookDue] },
  { findMeaning },
]

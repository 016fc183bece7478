import { createWebhook, deleteWebhook, listWebhooks } from '../../db/webhooks.ts'
import { findHostProblem } from '../../queue/jobs/refused-host.ts'
import type { CapabilityParts, OpenedCapability } from '../capability.ts'
import { withinQueryTime } from '../within-query-time.ts'
import { answerWebhooks, WEBHOOK_ROUTES, type WebhookDependencies } from './webhooks.ts'

/** Answers programs that manage webhooks. */
export const openWebhooks = ({ basePath, resources, intake, reads }: CapabilityParts): OpenedCapability =>
  webhookRoutes(basePath, { intake, reads, webhooks: createWebhookStore(resources) })

export const webhookRoutes = (basePath: string, dependencies: WebhookDependencies): OpenedCapability => ({
  routes: WEBHOOK_ROUTES.map(({ method, path, handle }) => ({
    method,
    path: `${basePath}${path}`,
    handle: (arrival, { id }) => answerWebhooks(dependencies, arrival, { id, handle }),
  })),
})

const createWebhookStore = ({ config, sql, redis }: CapabilityParts['resources']): WebhookDependencies['webhooks'] => ({
  list: (workspaceId) => withinQueryTime(listWebhooks(sql, workspaceId)),
  create: (webhook) => withinQueryTime(createWebhook(sql, webhook)),
  remove: (named) => withinQueryTime(deleteWebhook(sql, named)),
  findHostProblem: (url) => withinQueryTime(findHostProblem({ redis, prefix: config.REDIS_PREFIX }, url)),
})

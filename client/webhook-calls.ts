import { type Connection, patienceOf, send } from './send.ts'
import type { Webhook, WebhookCreated, WebhookPage, WebhookSettings } from './types.ts'

/** The calls about webhooks. They require an admin token. */
export const createWebhookCalls = (connection: Connection) => {
  const patience = () => patienceOf(connection)
  const pathOf = (id: string): string => `/webhooks/${encodeURIComponent(id)}`
  return {
    /**
     * Keep the secret: no later answer has it. This call is not repeated, since a repetition could create
     * a second webhook.
     */
    createWebhook: async (settings: WebhookSettings): Promise<WebhookCreated> =>
      (await send(connection, { path: '/webhooks', body: settings }, async () => false)).body as WebhookCreated,
    listWebhooks: async (): Promise<WebhookPage> =>
      (await send(connection, { path: '/webhooks' }, patience())).body as WebhookPage,
    getWebhook: async (id: string): Promise<Webhook> =>
      ((await send(connection, { path: pathOf(id) }, patience())).body as { webhook: Webhook }).webhook,
    deleteWebhook: async (id: string): Promise<void> => {
      await send(connection, { method: 'DELETE', path: pathOf(id) }, patience())
    },
  }
}

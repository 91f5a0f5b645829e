/**
 * Health over HTTP: `/health` says that this process answers, `/health/detailed` what it knows of itself.
 */
import { jsonInteger, jsonObject, jsonString } from './json-text.ts';
import { jsonReply, textReply } from './reply.ts';
import type { Route } from './route.ts';

export const HEALTH_ROUTES: readonly Route[] = [
  { method: 'GET', path: '/health', handle: () => textReply('OK') },
  {
    method: 'GET',
    path: '/health/detailed',
    handle: (_request, { service }) => {
      const { status, version, storage, uptimeSeconds } = service.health();
      const body = jsonObject({
        status: jsonString(status),
        version: jsonString(version),
        storage: jsonObject({ adapter: jsonString(storage.adapter), status: jsonString(storage.status) }),
        uptime_seconds: jsonInteger(uptimeSeconds),
      });
      return jsonReply(200, body);
    },
  },
];

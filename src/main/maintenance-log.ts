/** What an operator reads of State Views that are kept up: a line when one cannot be folded, and when it can again. */
import type { MaintainedView, MaintenanceListeners } from '#components';
import type { Logger } from '#observability';

export function maintenanceLog(logger: Logger): MaintenanceListeners {
  return {
    onTrouble: (view, message, retryMs) => logger.warn('view-not-maintained', { ...titleOf(view), message, retryMs }),
    onMended: (view) => logger.info('view-maintained-again', titleOf(view)),
  };
}

function titleOf({ database, view, mode }: MaintainedView): Readonly<Record<string, string>> {
  return { database, view, mode };
}

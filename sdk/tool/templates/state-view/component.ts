/** A State View: the tasks that are open, by their names. */
import { defineStateView, type StateViewComponent, type StoredEvent } from 'cairn/component';

type TaskEvent = StoredEvent<'task.opened', { readonly title: string }> | StoredEvent<'task.done', object>;

/** Titles by task. The state is stored as JSON. */
type OpenTasks = Record<string, string>;

export const component: StateViewComponent<OpenTasks, TaskEvent> = defineStateView<OpenTasks, TaskEvent>({
  initialState: () => ({}),
  evolve(tasks, event) {
    const task = event.subject ?? '';
    if (event.type === 'task.opened') return { ...tasks, [task]: event.data.title };
    const { [task]: _done, ...open } = tasks;
    return open;
  },
  /** The rendered state. */
  render: (tasks) => Object.entries(tasks).map(([task, title]) => ({ task, title })),
});

// A layered layout: a column for each kind of node, in which nodes stand near those that they are joined with.

const SWEEPS = 4;

// Gives each node a column and a row, and the size of the whole in columns and rows.
export function layered(nodes, edges, kinds) {
  const columns = kinds.map((some) => nodes.filter((node) => some.includes(node.kind))).filter((column) => column.length);
  const near = new Map(nodes.map((node) => [node.id, []]));
  for (const [from, to] of edges) {
    near.get(from)?.push(to);
    near.get(to)?.push(from);
  }
  const row = new Map();
  const most = Math.max(1, ...columns.map((column) => column.length));
  const spread = (column) => column.forEach((node, i) => row.set(node.id, ((i + 0.5) * most) / column.length));
  columns.forEach(spread);
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    // Each column is ordered by where its neighbours stand, from the left and then from the right.
    for (const column of sweep % 2 ? [...columns].reverse() : columns) {
      const middle = new Map(column.map((node) => [node.id, mean(near.get(node.id).map((id) => row.get(id))) ?? row.get(node.id)]));
      column.sort((one, other) => middle.get(one.id) - middle.get(other.id));
      spread(column);
    }
  }
  const places = columns.flatMap((column, x) => column.map((node) => ({ node, x, y: row.get(node.id) })));
  return { places, width: columns.length, height: most };
}

function mean(values) {
  const known = values.filter((value) => value !== undefined);
  return known.length ? known.reduce((sum, value) => sum + value, 0) / known.length : null;
}
